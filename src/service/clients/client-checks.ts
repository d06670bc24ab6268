import type { ClientDetails } from '../../data/clients/client-store.js'
import { AUDIENCES, SCOPES } from '../../domain/actor.js'
import { ChangeError } from '../../errors/change-error.js'
import { EXPECTED_FIELD_VALUE, LIMITS } from '../../errors/phrases.js'
import type { Problem } from '../../errors/problem.js'
import type { ClientValues } from './clients.js'

/** A change that is refused. The message is for the operator. */
export class ClientChangeError extends ChangeError {}

const MAX_NAME_LENGTH = 200
/** The column of the smallest type is an integer. */
const MAX_LIMIT = 2_147_483_647
const LIMIT_FIELDS = ['RequestsPerMinute', 'RequestsPerDay', 'RowsPerDay', 'RunningStatements'] as const

/**
 * Returns the faults of the values that a change sets, all but that of the feed.
 * @param before the client before its change. Undefined: it is new.
 */
export const clientFaults = (values: ClientValues, before: ClientDetails | undefined): readonly Problem[] => [
  ...nameFaults(values),
  ...rightFaults(values),
  ...expirationFaults(values, before),
  ...LIMIT_FIELDS.flatMap(field => limitFaults(field, values[field])),
]

function nameFaults({ Name }: ClientValues): readonly Problem[] {
  if (Name === undefined) return []
  if (Name.trim() === '') return [{ kind: 'RequiredMissing', field: 'Name' }]
  return Name.length > MAX_NAME_LENGTH
    ? [{ kind: 'OutOfRange', field: 'Name', limit: LIMITS.length(MAX_NAME_LENGTH) }]
    : []
}

function rightFaults({ Scopes = [], AudienceClass }: ClientValues): readonly Problem[] {
  const scope = Scopes.find(found => !SCOPES.some(known => known === found))
  return [
    ...(scope === undefined ? [] : [badValue('Scopes', EXPECTED_FIELD_VALUE.eachOneOf(SCOPES), scope)]),
    ...(AudienceClass === undefined || AUDIENCES.includes(AudienceClass)
      ? []
      : [badValue('AudienceClass', EXPECTED_FIELD_VALUE.oneOf(AUDIENCES), AudienceClass)]),
  ]
}

/** A client that has expired can be changed with its time unchanged. */
function expirationFaults(
  { ExpirationTimestamp: time }: ClientValues,
  before: ClientDetails | undefined,
): readonly Problem[] {
  if (time === undefined || time === null || Date.parse(time) > Date.now()) return []
  const stored = before?.ExpirationTimestamp
  return stored && Date.parse(stored) === Date.parse(time)
    ? []
    : [badValue('ExpirationTimestamp', EXPECTED_FIELD_VALUE.future, time)]
}

const limitFaults = (field: string, value: number | null | undefined): readonly Problem[] =>
  value === undefined || value === null || (Number.isInteger(value) && value >= 1 && value <= MAX_LIMIT)
    ? []
    : [{ kind: 'OutOfRange', field, limit: LIMITS.between(1, MAX_LIMIT) }]

const badValue = (
  field: string,
  expected: ReturnType<typeof EXPECTED_FIELD_VALUE.oneOf>,
  found: string,
): Problem => ({
  kind: 'BadValue',
  field,
  expected,
  found: `'${found}'`,
})
