import { fail } from '../../errors/problem.js'
import type { ParseContext } from '../../language/parse-limits.js'
import { parseExpression } from '../../language/parser.js'
import type { Entity } from '../../model/model.js'
import type { Ast } from '../../query/ast.js'

/** A key as text: of a String key its value, of an integer key its digits. */
export type EntityKey = string

const NAMED = /^([\p{L}_][\p{L}\p{N}_]*)=(.*)$/su
const INTEGER = /^-?\d{1,19}$/
const INT64 = 2n ** 63n

/**
 * The key of `Entity('k')` or `Entity(Name='k')`, from the decoded text between the brackets (Part 2, 4.3).
 * Integer keys may be quoted too; parameter aliases are replaced. Fails with `BadKey`.
 */
export function readKey(of: Entity, text: string, context: ParseContext): EntityKey {
  const [, name = of.key.name, value = text] = NAMED.exec(text) ?? []
  if (name !== of.key.name || value === '' || /^\s|\s$/.test(value)) return failBadKey(of, text)
  const literal = readKeyValue(value, context)
  if (literal?.kind !== 'literal' || literal.value === null) return failBadKey(of, text)
  const key = String(literal.value)
  return (of.key.type === 'String' ? literal.type === 'String' : isKeyOf(of, key))
    ? key
    : failBadKey(of, text)
}

const failBadKey = (of: Entity, found: string): never => fail({ kind: 'BadKey', entity: of.name, found })

/** Whether a text can be a key of the entity, as in a path without brackets. */
export function isKeyOf(of: Entity, text: string): boolean {
  if (of.key.type === 'String') return text !== ''
  return INTEGER.test(text) && BigInt(text) < INT64 && BigInt(text) >= -INT64
}

/** A text in quotes, which needs no parser: nearly every key. */
const QUOTED = /^'[^']*(?:''[^']*)*'$/
const NUMBER_OR_ALIAS = /^(?:[+-]?\d+|@.+)$/s

/** Only the syntax is the key's own matter; a broken value of an alias is reported as such. */
function readKeyValue(value: string, context: ParseContext): Ast | undefined {
  if (QUOTED.test(value))
    return {
      kind: 'literal',
      type: 'String',
      value: value.slice(1, -1).replaceAll("''", "'"),
      at: { source: 'the key' },
    }
  return NUMBER_OR_ALIAS.test(value) ? parseExpression(value, context, 'the key') : undefined
}
