import { readPublicKeys } from '../../domain/clients/public-keys.js'
import type { FieldValue, Values } from '../../domain/values.js'
import { checkPrecondition } from '../../domain/write-shape.js'
import { EXPECTED_FIELD_VALUE } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import { ClientService, type ClientValues } from '../clients/clients.js'
import type { AdminChange, AdminResource } from './resource.js'

const serviceOf = ({ database, writer }: AdminChange): ClientService => new ClientService(database, writer)

/** Clients. The secret of a new client is in the response to its creation. */
export const CLIENT_RESOURCE: AdminResource = {
  create: async (values, change) => {
    const { client, secret } = await serviceOf(change).add({ Name: '', ...toClientValues(values) })
    return { key: client.ClientId, secret }
  },
  update: (key, values, change) => serviceOf(change).change(key, toClientValues(values), change.precondition),
  remove: (key, change) => serviceOf(change).remove(key, change.precondition),
}

/** Secrets of clients. To rotate a secret, a second one is created and later the older one is deleted. */
export const CLIENT_SECRET_RESOURCE: AdminResource = {
  create: async ({ ClientId = '' }, change) => {
    const { secret } = await serviceOf(change).rotate(String(ClientId))
    const [key = ''] = secret.split('_')
    return { key, secret }
  },
  remove: (key, change) => {
    checkPrecondition(null, change.precondition)
    return serviceOf(change).removeSecret(key)
  },
}

/** The fields of the model are named like the columns. Those of other types are converted. */
function toClientValues({ RowsPerDay, PublicKeys, ...values }: Values): ClientValues & { Name?: string } {
  return {
    ...(values as ClientValues),
    ...(RowsPerDay !== undefined && { RowsPerDay: RowsPerDay === null ? null : Number(RowsPerDay) }),
    ...(PublicKeys !== undefined && { PublicKeys: PublicKeys === null ? null : parsePublicKeys(PublicKeys) }),
  }
}

function parsePublicKeys(text: FieldValue): NonNullable<ClientValues['PublicKeys']> {
  const keys = readPublicKeys(parseJson(String(text)))
  return (
    keys ??
    fail({
      kind: 'BadValue',
      field: 'PublicKeys',
      expected: EXPECTED_FIELD_VALUE.publicKeys,
      found: EXPECTED_FIELD_VALUE.otherText,
    })
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
