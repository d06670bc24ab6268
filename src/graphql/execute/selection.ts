import { fail } from '../../errors/problem.js'
import { type Entity, entity } from '../../model/model.js'
import type { ExpandAst, Mark, Query, SelectAst } from '../../query/ast.js'
import { NAME_BYTES_MAX } from '../../query/limits.js'
import type { Notation } from '../../query/representation.js'
import { readArguments } from './argument-values.js'
import { type Asked, type Operation, objectType, readFields } from './operation.js'
import { type FilterReader, readNested } from './query-arguments.js'

/**
 * Numbers are JSON numbers, exact, as in OData; what an answer says beside the fields is asked for by name.
 */
export const NOTATION: Notation = { reference: '', countSuffix: '', numbersAsText: false }

/** Fields of an object type that are no fields of the model. */
const MARKS: ReadonlyMap<string, Mark['mark']> = new Map([
  ['__typename', 'type'],
  ['id', 'id'],
  ['etag', 'etag'],
])

/**
 * What is asked of the records of an entity, as the part of a query that says what is read of each. Members
 * get the names of the answer, behind `prefix`.
 */
export function readSelection(
  operation: Operation,
  filters: FilterReader,
  of: Entity,
  nodes: Asked['nodes'],
  prefix = '',
): Query {
  const select: SelectAst[] = []
  const expand: ExpandAst[] = []
  const marks: Mark[] = []
  const type = objectType(operation, of.typeName)
  const fields = readFields(operation, type, nodes)
  for (const asked of fields) {
    const { name } = asked
    const as = checkName(prefix + asked.key)
    const at = { source: name }
    const mark = MARKS.get(name)
    const field = of.fields.get(name)
    if (mark) marks.push({ mark, as })
    else if (field?.kind === 'navigation') {
      const target = entity(field.target)
      const definition = type.getFields()[name]
      const narrowed = definition
        ? readNested(filters, target, readArguments(operation, asked, definition))
        : {}
      expand.push({
        name,
        as,
        form: 'records',
        at,
        query: { ...narrowed, ...readSelection(operation, filters, target, asked.nodes) },
      })
    } else select.push({ name, as, at })
  }
  return { select, expand, marks, layout: fields.map(({ key }) => prefix + key) }
}

/** Members of an answer are named by columns, and PostgreSQL would cut a longer name without a word. */
function checkName(name: string): string {
  if (Buffer.byteLength(name) > NAME_BYTES_MAX)
    fail({
      kind: 'QueryTooComplex',
      what: 'bytes in a name',
      limit: NAME_BYTES_MAX,
      at: { source: name.slice(0, NAME_BYTES_MAX) },
    })
  return name
}
