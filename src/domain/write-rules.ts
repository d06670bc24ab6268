import { LIMITS, RESOURCES } from '../errors/phrases.js'
import type { Problem } from '../errors/problem.js'
import { type Entity, getEntity, getScalar } from '../model/model.js'
import {
  allOf,
  anyOf,
  columnOf,
  type Expr,
  FALSE,
  nullLiteral,
  predicate,
  TRUE,
  textLiteral,
} from '../query/plan.js'
import { INITIAL_STATUS, statusesAfter, statusOf, TRANSITIONS } from './lifecycle.js'
import type { Listing } from './listing.js'
import { REFERENCE_FIELDS } from './references.js'
import type { Values } from './values.js'
import { isRecordVisible, isWritableListing } from './visibility.js'
import { storedValue, valueAfter, versionParameters, type WriteShape, writtenValue } from './write-shape.js'

const PROPERTY = getEntity('Property')
const MEMBER = getEntity('Member')
const OFFICE = getEntity('Office')
const VERSION = getScalar(PROPERTY, 'RecordVersion')

/**
 * The order in which rules refuse a write. A refusal of one stage hides those of later stages. The problems
 * of a body are reported together.
 */
export const RULE_STAGES = ['visibility', 'permission', 'precondition', 'body'] as const

/** The data that the problem of a refused write names. */
export interface RefusedWrite {
  readonly key: string
  readonly stored: Listing
  readonly written: Values
}

/** A condition on the stored record and the values of a write. If it is false, the write is refused. */
export interface WriteRule {
  readonly stage: (typeof RULE_STAGES)[number]
  /** The field that the problem is about. */
  readonly at?: string
  readonly condition: Expr
  readonly toProblem: (refused: RefusedWrite) => Problem
}

/** Returns the rules of a write. They compile to its WHERE, and name the reasons of a refusal. */
export const rulesOf = (shape: WriteShape): readonly WriteRule[] =>
  [
    // Assignment comes first for a new listing, so that the refusal names the agent or the office.
    ...(shape.mode === 'create' ? assignmentRules(shape) : []),
    ...ownerRules(shape),
    ...(shape.mode === 'create' ? [] : assignmentRules(shape)),
    ...preconditionRules(shape),
    ...referenceRules(shape),
    ...transitionRules(shape),
    ...requirementRules(shape),
  ].filter(({ at }) => at === undefined || !shape.faultyFields.has(at))

/** A listing of another agent and office is refused. A draft that the actor cannot see is not found. */
function ownerRules(shape: WriteShape): readonly WriteRule[] {
  const { mode, actor, fields } = shape
  const writable: WriteRule = {
    stage: 'permission',
    condition: isWritableListing(name => valueForOwner(shape, name), actor),
    toProblem: () => ({ kind: 'NotYours', entity: PROPERTY.name }),
  }
  // The owners of a new listing are unknown if one of them is faulty or missing.
  if (mode === 'create') return fields.has('ListAgentKey') && fields.has('ListOfficeKey') ? [writable] : []
  const visible: WriteRule = {
    stage: 'visibility',
    condition: isRecordVisible(PROPERTY, 'r0', actor),
    toProblem: ({ key }) => ({ kind: 'NotFound', what: RESOURCES.recordOf(PROPERTY.name, key) }),
  }
  return [visible, writable]
}

/** The rule reads the new owners of a new listing, and the present owners of a stored listing. */
const valueForOwner = (shape: WriteShape, name: string): Expr =>
  shape.mode === 'create' ? valueAfter(shape, name) : storedValue(shape, name)

/**
 * A token assigns its own member as agent, or a member of its office. It assigns any member as office, or the
 * office of the agent or of the token.
 */
function assignmentRules(shape: WriteShape): readonly WriteRule[] {
  const { actor, faultyFields } = shape
  if (actor.scopes.has('listings:write:any')) return []
  const agent = writtenValue(shape, 'ListAgentKey')
  const office = faultyFields.has('ListAgentKey') ? undefined : writtenValue(shape, 'ListOfficeKey')
  const rule = (at: string, written: Expr, isAssignable: Expr): WriteRule => ({
    stage: 'permission',
    at,
    condition: anyOf(isEqual(written, storedValue(shape, at)), isAssignable),
    toProblem: () => ({ kind: 'NotAssignable', field: at }),
  })
  return [
    ...(agent ? [rule('ListAgentKey', agent, isAssignableAgent(shape, agent))] : []),
    ...(office ? [rule('ListOfficeKey', office, isAssignableOffice(shape, office))] : []),
  ]
}

function isAssignableAgent({ actor: { memberKey, officeKey } }: WriteShape, agent: Expr): Expr {
  const office = officeOfMember(agent)
  const isOfficeOf = (other: Expr | undefined) => (other ? isEqual(office, other) : FALSE)
  return anyOf(
    memberKey === undefined ? FALSE : isEqual(agent, textLiteral(memberKey)),
    allOf(
      predicate('ne', office, nullLiteral('String')),
      anyOf(
        isOfficeOf(officeKey === undefined ? undefined : textLiteral(officeKey)),
        isOfficeOf(memberKey === undefined ? undefined : officeOfMember(textLiteral(memberKey))),
      ),
    ),
  )
}

const isAssignableOffice = (shape: WriteShape, office: Expr): Expr =>
  anyOf(
    exists(MEMBER, office),
    isEqual(officeOfMember(valueAfter(shape, 'ListAgentKey')), office),
    shape.actor.officeKey === undefined ? FALSE : isEqual(office, textLiteral(shape.actor.officeKey)),
  )

/** The version of the record satisfies If-Match and If-None-Match (RFC 9110, 13.1). */
function preconditionRules({ ifMatch, ifNoneMatch }: WriteShape): readonly WriteRule[] {
  const matches = (versions: readonly Expr[]) =>
    anyOf(...versions.map(version => isEqual(columnOf(VERSION, ROW), version)))
  const rule = (header: 'If-Match' | 'If-None-Match', condition: Expr): WriteRule => ({
    stage: 'precondition',
    condition,
    toProblem: () => ({ kind: 'PreconditionFailed', header }),
  })
  const offset = typeof ifMatch === 'number' ? ifMatch : 0
  return [
    ...(typeof ifMatch === 'number' ? [rule('If-Match', matches(versionParameters(0, ifMatch)))] : []),
    ...(ifNoneMatch === undefined
      ? []
      : [
          rule(
            'If-None-Match',
            ifNoneMatch === '*' ? FALSE : not(matches(versionParameters(offset, ifNoneMatch))),
          ),
        ]),
  ]
}

/** A key that the write stores belongs to a record. */
const referenceRules = (shape: WriteShape): readonly WriteRule[] =>
  REFERENCE_FIELDS.flatMap(([field, targets]): readonly WriteRule[] => {
    const key = writtenValue(shape, field)
    if (!key || shape.fields.get(field) === 'null') return []
    return [
      {
        stage: 'body',
        at: field,
        condition: anyOf(...targets.map(target => exists(target === 'Member' ? MEMBER : OFFICE, key))),
        toProblem: ({ written }) => ({
          kind: 'NoSuchReference',
          field,
          value: String(written[field]),
          target: targets.join(' or '),
        }),
      },
    ]
  })

/** A transition leads from the stored status to the new one. A record without a status counts as a draft. */
function transitionRules(shape: WriteShape): readonly WriteRule[] {
  const { status } = shape
  if (status === undefined) return []
  const origins = [status, ...TRANSITIONS.filter(t => t.to === status).flatMap(t => t.from)]
  return [
    {
      stage: 'body',
      at: 'StandardStatus',
      condition: isStatusIn(storedValue(shape, 'StandardStatus'), origins),
      toProblem: ({ stored }) => {
        const from = statusOf(stored)
        return { kind: 'TransitionNotAllowed', from, to: status, allowed: statusesAfter(from) }
      },
    },
  ]
}

/**
 * The fields that a status requires have values. They are checked when the status changes and when a write
 * clears one of them.
 */
const requirementRules = (shape: WriteShape): readonly WriteRule[] =>
  TRANSITIONS.flatMap(({ to, requires }) =>
    shape.status === undefined || shape.status === to
      ? requires.flatMap(field => requirementRule(shape, to, field))
      : [],
  )

function requirementRule(shape: WriteShape, to: string, field: 'SoldPrice'): readonly WriteRule[] {
  const state = shape.fields.get(field)
  const inStatus = predicate('eq', storedValue(shape, 'StandardStatus'), textLiteral(to))
  const hasValue = predicate('gt', storedValue(shape, field), ZERO)
  const toProblem: WriteRule['toProblem'] = ({ stored, written }) =>
    (field in written ? written[field] : stored[field]) === null
      ? { kind: 'RequiredMissing', field }
      : { kind: 'OutOfRange', field, limit: LIMITS.positive }
  const rule = (condition: Expr): readonly WriteRule[] => [{ stage: 'body', at: field, condition, toProblem }]
  if (state === 'value') return []
  if (state === undefined) return shape.status === undefined ? [] : rule(anyOf(inStatus, hasValue))
  return rule(shape.status === undefined ? not(inStatus) : FALSE)
}

const ROW = { kind: 'row', row: 'r0' } as const
const ZERO: Expr = { kind: 'literal', value: '0', type: 'Decimal' }
const isEqual = (left: Expr, right: Expr): Expr => predicate('eq', left, right)
const not = (condition: Expr): Expr =>
  condition === FALSE ? TRUE : condition === TRUE ? FALSE : predicate('not', condition)

/** `exists(Member, 'M1')` → `Member('M1')/MemberKey ne null` */
const exists = (of: Entity, key: Expr): Expr =>
  predicate('ne', columnOf(of.key, { kind: 'key', entity: of, key }), nullLiteral('String'))

/** `Member('M1')/OfficeKey`, null without such a member. */
const officeOfMember = (key: Expr): Expr =>
  columnOf(getScalar(MEMBER, 'OfficeKey'), { kind: 'key', entity: MEMBER, key })

const isStatusIn = (status: Expr, statuses: readonly string[]): Expr =>
  anyOf(
    predicate('in', status, {
      kind: 'list',
      items: statuses.map(textLiteral),
      type: 'Collection(String)',
    }),
    statuses.includes(INITIAL_STATUS) ? isEqual(status, nullLiteral('String')) : FALSE,
  )
