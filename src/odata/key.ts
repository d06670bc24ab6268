import { fail } from '../errors/problem.js'
import { parseExpression } from '../language/parser.js'
import type { ParseContext } from '../language/parser-budget.js'
import type { Entity } from '../model/model.js'
import type { Ast } from '../query/ast.js'

/** A key as text: of a String key its value, of an integer key its digits. */
export type Key = string

const NAMED = /^([\p{L}_][\p{L}\p{N}_]*)=(.*)$/su
const INTEGER = /^-?\d{1,19}$/
const INT64 = 2n ** 63n

/**
 * The key of `Entity('k')` or `Entity(Name='k')`, from the decoded text between the brackets (Part 2, 4.3). Integer keys may be quoted too;
 * parameter aliases are replaced. Fails with `BadKey`.
 */
export function readKey(of: Entity, text: string, context: ParseContext): Key {
  const bad = () => fail({ kind: 'BadKey', entity: of.name, found: text })
  const [, name = of.key.name, value = text] = NAMED.exec(text) ?? []
  if (name !== of.key.name || value === '' || /^\s|\s$/.test(value)) return bad()
  const literal = readValue(value, context)
  if (literal?.kind !== 'literal' || literal.value === null) return bad()
  const key = String(literal.value)
  return (of.key.type === 'String' ? literal.type === 'String' : isKeyOf(of, key)) ? key : bad()
}

/** Whether a text can be a key of the entity, as in a path without brackets. */
export function isKeyOf(of: Entity, text: string): boolean {
  if (of.key.type === 'String') return text !== ''
  return INTEGER.test(text) && BigInt(text) < INT64 && BigInt(text) >= -INT64
}

/** Only the syntax is the key's own matter; a broken value of an alias is reported as such. */
function readValue(value: string, context: ParseContext): Ast | undefined {
  const isLiteral = /^(?:'[^']*(?:''[^']*)*'|[+-]?\d+|@.+)$/s.test(value)
  return isLiteral ? parseExpression(value, context, 'the key') : undefined
}
