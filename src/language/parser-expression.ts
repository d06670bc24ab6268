import { type At, fail } from '../errors/problem.js'
import type { Ast } from '../query/ast.js'
import type { Token } from './lexer.js'
import { toJsonText, toLiteral } from './literals.js'
import { MemberParser } from './parser-members.js'
import { BLANK } from './parser-tokens.js'

/** Operators by how tightly they bind, loosest first (Part 2, 5.1.1.17). */
const LEVELS = [
  ['or'],
  ['and'],
  ['eq', 'ne'],
  ['gt', 'ge', 'lt', 'le'],
  ['add', 'sub'],
  ['mul', 'div', 'divby', 'mod'],
  ['in', 'has'],
]
const POWER: ReadonlyMap<string, number> = new Map(
  LEVELS.flatMap((level, i) => level.map(name => [name, i + 1] as const)),
)
/** `not` and the minus bind tighter than multiplication, and looser than `in` and `has`. */
const UNARY = POWER.get('mul') ?? 0

/** Operators whose chains become one call, so that a thousand terms make a broad tree and not a high one. */
const CHAINS: ReadonlySet<string> = new Set(['and', 'or'])
/** Functions whose last argument is a type. */
const TYPED: ReadonlySet<string> = new Set(['cast', 'isof'])

const OPERAND = 'a value, a field or a function'
const MEMBERS = "a list like ('a','b')"

/**
 * Expressions (OData ABNF, commonExpr), by precedence climbing: an operand, then every operator that binds
 * tighter than asked.
 */
export class ExpressionParser extends MemberParser {
  override expression(power = 0): Ast {
    let left = this.operand()
    for (;;) {
      const { next } = this
      const fn = next.text.toLowerCase()
      const own = (next.kind === 'name' && POWER.get(fn)) || 0
      if (own <= power) return left
      left = this.call(fn, this.operands(fn, own, left), this.at(next))
    }
  }

  private operands(fn: string, power: number, left: Ast): readonly Ast[] {
    const right = () => {
      this.operator()
      return fn === 'in' ? this.members() : this.expression(power)
    }
    const args = [left, right()]
    while (CHAINS.has(fn) && this.isWord(fn)) args.push(right())
    return args
  }

  /** An operator stands between blanks. */
  private operator(): void {
    if (!this.next.blank) this.unexpected(BLANK)
    const { text } = this.advance()
    if (!this.next.blank && this.next.kind !== 'end') this.unexpected(`a blank behind ${text}`)
  }

  protected override operand(): Ast {
    const token = this.next
    const at = this.at()
    if (token.kind === 'alias') return this.alias(p => p.expression())
    if (this.skip('(')) return this.budget.nest(at, () => this.closing(this.expression()))
    if (this.is('[')) return this.array()
    if (this.skip('{')) return this.object(at)
    if (this.skip('-')) return this.unary('negate', at)
    if (token.kind === 'name') return this.named(token)
    const literal = toLiteral(token, at) ?? this.unexpected(OPERAND)
    this.advance()
    return this.budget.node(literal, at)
  }

  private unary(fn: 'not' | 'negate', at: At): Ast {
    return this.call(fn, [this.budget.nest(at, () => this.expression(UNARY))], at)
  }

  /** What begins with a name: a path, a call, a literal, or `not`. Variables hide all but paths. */
  private named(token: Token): Ast {
    const at = this.at()
    const follower = this.text[token.end]
    this.advance()
    if (this.variables.includes(token.text) || follower === '/') return this.path(token)
    if (this.isWord('not', token)) return this.unary('not', at)
    if (follower === '(' && !token.text.startsWith('$'))
      return this.budget.nest(at, () => this.invocation(token.text.toLowerCase(), at))
    const literal = toLiteral(token, at)
    return literal ? this.budget.node(literal, at) : this.path(token)
  }

  private invocation(fn: string, at: At): Ast {
    this.expect('(')
    if (fn === 'case') return this.call(fn, this.closing(this.list(() => this.branch()).flat()), at)
    const args = this.is(')') ? [] : this.list(() => this.expression())
    this.closing(args)
    return this.call(
      fn,
      TYPED.has(fn) ? args.map((arg, i) => (i === args.length - 1 ? this.toType(arg) : arg)) : args,
      at,
    )
  }

  /** One `condition:value` of `case`. */
  private branch(): readonly [Ast, Ast] {
    const condition = this.expression()
    this.expect(':')
    return [condition, this.expression()]
  }

  /** A type stands where a path could: `Edm.String`, `Collection(Edm.String)`; clients quote it too. */
  private toType(arg: Ast): Ast {
    const name = this.typeName(arg)
    return name === undefined
      ? fail({ kind: 'Syntax', expected: 'a type like Edm.String', found: 'something else', at: arg.at })
      : { kind: 'type', name, at: arg.at }
  }

  private typeName(arg: Ast): string | undefined {
    if (arg.kind === 'path') return arg.names.length === 1 ? arg.names[0] : undefined
    if (arg.kind === 'literal') return arg.type === 'String' ? String(arg.value) : undefined
    const [item] = arg.kind === 'call' && arg.fn === 'collection' ? arg.args : []
    const name = item && this.typeName(item)
    return name && `Collection(${name})`
  }

  /**
   * The right side of `in`: a list, or something that stands for one. Only an alias may be null there, as it
   * is without a value.
   */
  private members(given?: 'alias'): Ast {
    const { next } = this
    const at = this.at()
    if (next.kind === 'alias') return this.alias(p => p.members('alias'))
    if (this.skip('(')) return this.items(')', () => this.expression(), at)
    const operand = this.operand()
    const isNull = operand.kind === 'literal' && operand.type === 'Null'
    return operand.kind === 'list' || operand.kind === 'path' || (isNull && given === 'alias')
      ? operand
      : this.unexpected(MEMBERS, next)
  }

  private array(): Ast {
    const at = this.at()
    this.expect('[')
    return this.items(']', () => this.arrayItem(), at)
  }

  private items(bracket: ')' | ']' | '}', item: () => Ast, at: At): Ast {
    const items = this.budget.nest(at, () => (this.is(bracket) ? [] : this.list(item)))
    return this.budget.node({ kind: 'list', items: this.closing(items, bracket), at }, at, items)
  }

  private arrayItem(): Ast {
    if (this.next.kind !== 'json') return this.expression()
    const at = this.at()
    return this.budget.node(toJsonText(this.advance().text, at), at)
  }

  /** Objects are values of complex types, of which the model has none: they are only checked. */
  private object(at: At): never {
    const member = () => {
      this.take('json', 'a name in double quotes')
      this.expect(':')
      return this.arrayItem()
    }
    this.items('}', member, at)
    return fail({ kind: 'NotImplemented', feature: 'JSON objects', at })
  }

  /** The value of a parameter alias; without one it is null (Part 2, 5.3). */
  private alias(read: (parser: ExpressionParser) => Ast): Ast {
    const at = this.at()
    const name = this.advance().text.slice(1)
    if (name.includes('.')) return fail({ kind: 'NotImplemented', feature: 'annotations in expressions', at })
    if (this.is('/')) return fail({ kind: 'NotImplemented', feature: 'paths behind a parameter alias', at })
    const text = this.budget.context.aliases.get(name)
    if (text === undefined) return this.budget.node({ kind: 'literal', type: 'Null', value: null, at }, at)
    return this.budget.alias(name, at, () => new ExpressionParser(text, `@${name}`, this.budget).whole(read))
  }
}
