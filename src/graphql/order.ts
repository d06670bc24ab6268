import { fail } from '../errors/problem.js'
import { type Entity, entity } from '../model/model.js'
import type { OrderAst } from '../query/ast.js'
import type { Input } from './operation.js'

const AT = { source: 'orderBy' }

/** The terms of an order, the first counting most. Fails with BadOptionValue unless each object names one field, and no field is null. */
export const readOrder = (of: Entity, orderBy: readonly Input[]): readonly OrderAst[] => orderBy.map(term => readTerm(of, term, []))

function readTerm(of: Entity, term: unknown, way: readonly string[]): OrderAst {
  const [[name, value] = ['', null], ...others] = Object.entries(term ?? {})
  const field = of.fields.get(name)
  if (!field || others.length > 0 || value === null) return refuse(term)
  const names = [...way, name]
  if (field.kind === 'navigation') return readTerm(entity(field.target), value, names)
  return { expr: { kind: 'path', names, at: AT }, descending: value === 'DESC' }
}

const refuse = (term: unknown): never =>
  fail({ kind: 'BadOptionValue', option: AT.source, expected: 'ASC or DESC for one field in each object', found: JSON.stringify(term) })
