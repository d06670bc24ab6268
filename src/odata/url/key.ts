import { fail } from '../../errors/problem.js'
import type { ParseContext } from '../../language/parse-limits.js'
import { parseExpression } from '../../language/parser.js'
import type { Entity } from '../../model/model.js'
import type { Ast } from '../../query/ast.js'

/** A key as text: the value of a String key, the digits of an integer key. */
export type EntityKey = string

const NAMED = /^([\p{L}_][\p{L}\p{N}_]*)=(.*)$/su
const INTEGER = /^-?\d{1,19}$/
const INT64 = 2n ** 63n

/**
 * Reads the key of `Entity('k')` or `Entity(Name='k')` from the decoded text in the brackets (Part 2, 4.3).
 * Integer keys can be quoted. Parameter aliases are replaced. Fails with `BadKey`.
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

/** Returns true if a text can be a key of the entity, as in a path without brackets. */
export function isKeyOf(of: Entity, text: string): boolean {
  if (of.key.type === 'String') return text !== ''
  return INTEGER.test(text) && BigInt(text) < INT64 && BigInt(text) >= -INT64
}

/** Fast path for a quoted string, the form of nearly every key. */
const QUOTED = /^'[^']*(?:''[^']*)*'$/
const NUMBER_OR_ALIAS = /^(?:[+-]?\d+|@.+)$/s

/** Only a syntax error becomes `BadKey`. An invalid value of an alias is reported as it is. */
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
