import { TRANSITIONS, type Transition } from '../../domain/lifecycle.js'
import { type Entity, getEntity, getScalar, type Scalar } from '../../model/model.js'
import { hasEtag, recordInputNameOf, SCALAR_OF } from './names.js'
import type { FieldDefinition, TypeDefinition } from './sdl-text.js'
import { describeField, ID_FIELD, keyFieldOf } from './sdl-types.js'

/** A field of Mutation, and the write that it makes. */
export interface MutationField {
  readonly definition: FieldDefinition
  readonly entity: Entity
  readonly kind: 'create' | 'update' | 'delete'
  /** The step in the life of a listing that an update makes. */
  readonly transition?: Transition
}

const PROPERTY = getEntity('Property')

const IF_MATCH_ARGUMENT: FieldDefinition = {
  name: 'ifMatch',
  type: 'String',
  description: 'The `etag` of the record as it was read. Nothing is written if the record has another one.',
}
const CHANGED_BY_ARGUMENT: FieldDefinition = {
  name: 'ChangedByMemberKey',
  type: 'String',
  description: 'The member who makes the change. Required unless the token identifies one.',
}

/** The name of the field that creates a record, and descriptions. */
interface MutationTexts {
  readonly createName?: string
  readonly create: string
  readonly update: string
  readonly delete: string
  readonly deleted: string
}

const TEXTS: Readonly<Record<string, MutationTexts>> = {
  Property: {
    createName: 'createDraft',
    create: 'Creates a listing that is not published yet.',
    update: 'Changes the specified fields of a listing.',
    delete: 'Deletes a listing with its Media, Rooms and OpenHouses.',
    deleted: 'A deleted listing.',
  },
  Client: {
    create: 'Creates a client with a secret, which only this response has. `Secret` must be selected.',
    update: 'Changes the specified fields of a client.',
    delete: 'Removes a client and its secrets permanently.',
    deleted: 'A removed client.',
  },
  ClientSecret: {
    create: 'Adds a secret to a client. Only this response has it, and `Secret` must be selected.',
    update: '',
    delete: 'Deletes a secret. The last one of a client without public keys is not deleted.',
    deleted: 'A deleted secret.',
  },
  Webhook: {
    create: 'Creates a webhook with a secret, which only this response has. `Secret` must be selected.',
    update:
      'Changes the specified fields of a webhook. Its state and position follow from `State` and `From`.',
    delete: 'Removes a webhook and its secrets permanently.',
    deleted: 'A removed webhook.',
  },
  WebhookSecret: {
    create: 'Adds a secret to a webhook. Only this response has it, and `Secret` must be selected.',
    update: '',
    delete: 'Deletes the older secret of a webhook.',
    deleted: 'A deleted secret.',
  },
  Feed: {
    create: 'Creates a feed. The response is sent when its listings are computed.',
    update: 'Changes the specified fields of a feed. The response is sent when its listings are computed.',
    delete: 'Removes a feed that no client uses.',
    deleted: 'A removed feed.',
  },
}

const textsOf = ({ typeName }: Entity): MutationTexts =>
  TEXTS[typeName] ?? {
    create: `Creates a ${typeName} record.`,
    update: `Changes the specified fields of a ${typeName} record.`,
    delete: `Deletes a ${typeName} record.`,
    deleted: `A deleted ${typeName} record.`,
  }

/** Returns the fields of Mutation by name: the writes of all writable entities. */
export const mutationFieldsOf = (entities: readonly Entity[]): ReadonlyMap<string, MutationField> =>
  new Map(
    entities
      .filter(({ writable }) => writable)
      .flatMap(toMutationFields)
      .map(field => [field.definition.name, field]),
  )

function toMutationFields(entity: Entity): readonly MutationField[] {
  const { typeName: type } = entity
  const texts = textsOf(entity)
  const key = keyFieldOf(entity)
  const conditions = hasEtag(entity) ? [IF_MATCH_ARGUMENT] : []
  const input = { name: 'input', type: `${recordInputNameOf(entity)}!`, description: 'The fields to write.' }
  const toField = (
    kind: MutationField['kind'],
    args: readonly FieldDefinition[],
    definition: Partial<FieldDefinition> = {},
  ): MutationField => ({
    entity,
    kind,
    definition: { name: `${kind}${type}`, type, description: texts[kind], args, ...definition },
  })
  return [
    toField('create', [input], texts.createName === undefined ? {} : { name: texts.createName }),
    ...(entity.immutable ? [] : [toField('update', [key, input, ...conditions])]),
    ...(entity === PROPERTY ? TRANSITIONS.map(toTransitionField) : []),
    toField('delete', [key, ...conditions], { type: deletedTypeNameOf(entity) }),
  ]
}

/** Fields that a transition requires are its arguments. */
function toTransitionField(transition: Transition): MutationField {
  const { name, description, from, to, requires } = transition
  return {
    entity: PROPERTY,
    kind: 'update',
    transition,
    definition: {
      name,
      type: PROPERTY.typeName,
      description: `${description} From ${from.join(', ')} to ${to}.`,
      args: [
        keyFieldOf(PROPERTY),
        ...requires.map(field => toRequiredArgument(getScalar(PROPERTY, field))),
        CHANGED_BY_ARGUMENT,
        IF_MATCH_ARGUMENT,
      ],
    },
  }
}

const toRequiredArgument = (field: Scalar): FieldDefinition => ({
  name: field.name,
  type: `${SCALAR_OF[field.type]}!`,
  description: describeField(field),
})

/** Returns the type Mutation. */
export const toMutationType = (fields: ReadonlyMap<string, MutationField>): TypeDefinition => ({
  head: 'type Mutation',
  description:
    'Writes records. The mutations of a document run one after the other, each in its own transaction. A failure does not roll back the others.',
  fields: [...fields.values()].map(({ definition }) => definition),
})

export const deletedTypeNameOf = ({ typeName }: Entity) => `Deleted${typeName}`

/** Returns the type of the result of a deletion. */
export const toDeletedType = (of: Entity): TypeDefinition => ({
  head: `type ${deletedTypeNameOf(of)}`,
  description: textsOf(of).deleted,
  fields: [ID_FIELD, keyFieldOf(of)],
})
