import { fail } from '../errors/problem.js'
import type { Answer } from './answer.js'
import { checkOptions } from './options.js'
import { readPath } from './path.js'
import { readRecord } from './read-record.js'
import type { ODataRequest, Service } from './request.js'

/** `$entity?$id=...`: the record that an id of ours names, absolute or relative to the service root (Part 2, 4.2). */
export async function readEntityId(request: ODataRequest, _path: unknown, service: Service): Promise<Answer> {
  const { options, root, limits } = request
  checkOptions(options, 'entityId')
  const id = options.values.get('$id') ?? fail({ kind: 'BadOptionValue', option: '$id', expected: 'the id of a record', found: '' })
  const base = [root, new URL(root).pathname].find(start => id.startsWith(start)) ?? ''
  const path = readPath(id.slice(base.length), { limits, aliases: options.aliases })
  if (path.kind !== 'record' || path.form !== 'record') return fail({ kind: 'NotFound', what: `record '${id}'` })
  return readRecord(request, path, service, 'entityId')
}
