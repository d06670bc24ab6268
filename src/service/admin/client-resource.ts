import { readPublicKeys } from '../../domain/clients/public-keys.js'
import type { Values } from '../../domain/values.js'
import { type ChangeConditions, checkPrecondition } from '../../domain/write-shape.js'
import { EXPECTED_FIELD_VALUE } from '../../errors/phrases.js'
import { failIfAny } from '../../errors/problem.js'
import { ClientService, type ClientValues } from '../clients/clients.js'
import type { AdminChange, AdminResource } from './resource.js'

const serviceOf = ({ database, writer }: AdminChange): ClientService => new ClientService(database, writer)

/** Clients. The secret of a new client is in the response to its creation. */
export const CLIENT_RESOURCE: AdminResource = {
  create: async (values, change) => {
    const [columns, conditions] = toClientValues(values, change.conditions)
    const { client, secret } = await serviceOf(change).add({ Name: '', ...columns }, conditions)
    return { key: client.ClientId, secret }
  },
  update: (key, values, change) =>
    serviceOf(change).change(key, ...toClientValues(values, change.conditions)),
  remove: (key, change) => serviceOf(change).remove(key, change.conditions),
}

/** Secrets of clients. To rotate a secret, a second one is created and later the older one is deleted. */
export const CLIENT_SECRET_RESOURCE: AdminResource = {
  create: async ({ ClientId = '' }, change) => {
    failIfAny(change.conditions.faults ?? [])
    const { secret } = await serviceOf(change).rotate(String(ClientId))
    const [key = ''] = secret.split('_')
    return { key, secret }
  },
  remove: (key, change) => {
    checkPrecondition(null, change.conditions)
    return serviceOf(change).removeSecret(key)
  },
}

/**
 * Returns the values, and the conditions with a fault of the public keys. The fields of the model are named like the
 * columns. Those of other types are converted.
 */
function toClientValues(
  { RowsPerDay, PublicKeys, ...values }: Values,
  conditions: ChangeConditions,
): [values: ClientValues, conditions: ChangeConditions] {
  const keys = typeof PublicKeys === 'string' ? readPublicKeys(parseJson(PublicKeys)) : null
  const columns = {
    ...(values as ClientValues),
    ...(RowsPerDay !== undefined && { RowsPerDay: RowsPerDay === null ? null : Number(RowsPerDay) }),
    ...(PublicKeys !== undefined && keys !== undefined && { PublicKeys: keys }),
  }
  const { publicKeys: expected, otherText: found } = EXPECTED_FIELD_VALUE
  const fault = { kind: 'BadValue', field: 'PublicKeys', expected, found } as const
  return [
    columns,
    keys === undefined ? { ...conditions, faults: [...(conditions.faults ?? []), fault] } : conditions,
  ]
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
