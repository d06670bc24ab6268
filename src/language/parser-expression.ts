import { FEATURES } from '../errors/features.js'
import { EXPECTED_SYNTAX, FOUND } from '../errors/phrases.js'
import { fail, type SourceLocation } from '../errors/problem.js'
import type { Ast } from '../query/ast.js'
import { type Token, tokenAt } from './lexer.js'
import { toJsonStringLiteral, toLiteralAst } from './literals.js'
import { MemberExpressionParser } from './parser-member-expression.js'

/** Operators by precedence, lowest first (Part 2, 5.1.1.17). */
const PRECEDENCE_LEVELS = [
  ['or'],
  ['and'],
  ['eq', 'ne'],
  ['gt', 'ge', 'lt', 'le'],
  ['add', 'sub'],
  ['mul', 'div', 'divby', 'mod'],
  ['in', 'has'],
]
const BINDING_POWER: ReadonlyMap<string, number> = new Map(
  PRECEDENCE_LEVELS.flatMap((level, i) => level.map(name => [name, i + 1] as const)),
)
/** `not` and unary minus bind more tightly than multiplication and less tightly than `in` and `has`. */
const UNARY_BINDING_POWER = BINDING_POWER.get('mul') ?? 0

/**
 * Operators whose chains become one call, so that a thousand terms make a broad tree instead of a high one.
 */
const VARIADIC_OPERATORS: ReadonlySet<string> = new Set(['and', 'or'])
/** Functions whose last argument is a type. */
const TYPE_FUNCTIONS: ReadonlySet<string> = new Set(['cast', 'isof'])

/** Maximum number of tokens of a `case` condition to search for its colon. */
const MAX_SEARCHED_TOKENS = 200

/**
 * Parses expressions (OData ABNF, commonExpr) by precedence climbing: an operand, then every operator with a
 * higher precedence than requested.
 */
export class ExpressionParser extends MemberExpressionParser {
  override expression(minBindingPower = 0): Ast {
    let left = this.operand()
    for (;;) {
      const { next } = this
      const fn = next.text.toLowerCase()
      const bindingPower = (next.kind === 'name' && BINDING_POWER.get(fn)) || 0
      if (bindingPower <= minBindingPower) return left
      left = this.callNode(fn, this.operatorArguments(fn, bindingPower, left), this.position(next))
    }
  }

  private operatorArguments(fn: string, bindingPower: number, left: Ast): readonly Ast[] {
    const right = () => {
      this.expectOperator()
      return fn === 'in' ? this.listExpression() : this.expression(bindingPower)
    }
    const args = [left, right()]
    while (VARIADIC_OPERATORS.has(fn) && this.isKeyword(fn)) args.push(right())
    return args
  }

  /** An operator needs spaces around it. */
  private expectOperator(): void {
    if (!this.next.hasLeadingWhitespace) this.unexpected(EXPECTED_SYNTAX.blank)
    const { text } = this.advance()
    if (!this.next.hasLeadingWhitespace && this.next.kind !== 'end')
      this.unexpected(EXPECTED_SYNTAX.blankAfter(text))
  }

  protected override operand(): Ast {
    const token = this.next
    const at = this.position()
    if (token.kind === 'alias') return this.parameterAlias(p => p.expression())
    if (this.accept('(')) return this.limiter.nested(at, () => this.expectClosing(this.expression()))
    if (this.isPunctuation('[')) return this.array()
    if (this.accept('{')) return this.objectExpression(at)
    if (this.accept('-')) return this.unary('negate', at)
    if (token.kind === 'name') return this.nameExpression(token)
    const literal = toLiteralAst(token, at) ?? this.unexpected(EXPECTED_SYNTAX.operand)
    this.advance()
    return this.limiter.countNode(literal, at)
  }

  private unary(fn: 'not' | 'negate', at: SourceLocation): Ast {
    return this.callNode(fn, [this.limiter.nested(at, () => this.expression(UNARY_BINDING_POWER))], at)
  }

  /**
   * Parses an expression that begins with a name: a path, a call, a literal, or `not`. A lambda variable can
   * only begin a path.
   */
  private nameExpression(token: Token): Ast {
    const at = this.position()
    const follower = this.text[token.end]
    this.advance()
    if (this.lambdaVariables.includes(token.text) || follower === '/') return this.pathExpression(token)
    if (this.isKeyword('not', token)) return this.unary('not', at)
    if (follower === '(' && !token.text.startsWith('$'))
      return this.limiter.nested(at, () => this.functionCall(token.text.toLowerCase(), at))
    const literal = toLiteralAst(token, at)
    return literal ? this.limiter.countNode(literal, at) : this.pathExpression(token)
  }

  private functionCall(fn: string, at: SourceLocation): Ast {
    this.expect('(')
    if (fn === 'case')
      return this.callNode(fn, this.expectClosing(this.commaSeparated(() => this.caseBranch()).flat()), at)
    const args = this.isPunctuation(')') ? [] : this.commaSeparated(() => this.expression())
    this.expectClosing(args)
    return this.callNode(
      fn,
      TYPE_FUNCTIONS.has(fn) ? args.map((arg, i) => (i === args.length - 1 ? this.toType(arg) : arg)) : args,
      at,
    )
  }

  /** Parses one `condition:value` of `case`. In `DaysOnMarket gt 10:20` the colon ends the number. */
  private caseBranch(): readonly [Ast, Ast] {
    const ambiguous = this.timeThatHoldsColon()
    if (ambiguous !== undefined) this.splitTimeAt(ambiguous)
    const condition = this.expression()
    this.expect(':')
    return [condition, this.expression()]
  }

  /**
   * Returns the offset of the last time of day in this condition of `case` if the condition has no other
   * colon: that token then contains the colon between condition and value. A condition that compares with a
   * time of day has another colon: `time(X) gt 10:20:'late'`.
   */
  private timeThatHoldsColon(): number | undefined {
    let found: number | undefined
    for (const { kind, text, offset } of this.tokensOfThisLevel()) {
      if (kind === 'punctuation' && text === ':') return undefined
      if (kind === 'punctuation' && (text === ',' || text === ')')) return found
      if (kind === 'time') found = offset
    }
    return undefined
  }

  /** Iterates over the following tokens, without those in nested brackets. */
  private *tokensOfThisLevel(): Generator<Token> {
    let depth = 0
    let token = this.next
    for (let searched = 0; searched < MAX_SEARCHED_TOKENS && token.kind !== 'end'; searched++) {
      if (depth === 0) yield token
      depth += bracketDepthChange(token)
      token = tokenAt(this.text, token.end)
    }
  }

  /**
   * Converts an argument to a type: `Edm.String`, `Collection(Edm.String)`. A quoted type is accepted too,
   * since some clients send it.
   */
  private toType(arg: Ast): Ast {
    const name = this.typeName(arg)
    return name === undefined
      ? fail({ kind: 'Syntax', expected: EXPECTED_SYNTAX.type, found: FOUND.somethingElse, at: arg.at })
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
   * Parses the right side of `in`: a list, an array, a path or an alias. An alias without a value is null; no
   * other form can be null.
   */
  private listExpression(source?: 'alias'): Ast {
    const { next } = this
    const at = this.position()
    if (next.kind === 'alias') return this.parameterAlias(p => p.listExpression('alias'))
    if (this.accept('(')) return this.listItems(')', () => this.expression(), at)
    const operand = this.operand()
    const isNull = operand.kind === 'literal' && operand.type === 'Null'
    return operand.kind === 'list' || operand.kind === 'path' || (isNull && source === 'alias')
      ? operand
      : this.unexpected(EXPECTED_SYNTAX.list, next)
  }

  private array(): Ast {
    const at = this.position()
    this.expect('[')
    return this.listItems(']', () => this.arrayItem(), at)
  }

  private listItems(bracket: ')' | ']' | '}', item: () => Ast, at: SourceLocation): Ast {
    const items = this.limiter.nested(at, () =>
      this.isPunctuation(bracket) ? [] : this.commaSeparated(item),
    )
    return this.limiter.countNode({ kind: 'list', items: this.expectClosing(items, bracket), at }, at, items)
  }

  private arrayItem(): Ast {
    if (this.next.kind !== 'json') return this.expression()
    const at = this.position()
    return this.limiter.countNode(toJsonStringLiteral(this.advance().text, at), at)
  }

  /**
   * Parses an object and refuses it. Objects are values of complex types, and the model has none.
   */
  private objectExpression(at: SourceLocation): never {
    const member = () => {
      this.expectKind('json', EXPECTED_SYNTAX.jsonName)
      this.expect(':')
      return this.arrayItem()
    }
    this.listItems('}', member, at)
    return fail({ kind: 'NotImplemented', feature: FEATURES.jsonObjects, at })
  }

  /** Parses the value of a parameter alias. An alias without a value is null (Part 2, 5.3). */
  private parameterAlias(read: (parser: ExpressionParser) => Ast): Ast {
    const at = this.position()
    const name = this.advance().text.slice(1)
    if (name.includes('.'))
      return fail({ kind: 'NotImplemented', feature: FEATURES.annotationInExpression(`@${name}`), at })
    if (this.isPunctuation('/')) return fail({ kind: 'NotImplemented', feature: FEATURES.aliasPath, at })
    const text = this.limiter.context.aliases.get(name)
    if (text === undefined)
      return this.limiter.countNode({ kind: 'literal', type: 'Null', value: null, at }, at)
    return this.limiter.insideAlias(name, at, () =>
      new ExpressionParser(text, `@${name}`, this.limiter).parseToEnd(read),
    )
  }
}

function bracketDepthChange({ kind, text }: Token): number {
  if (kind !== 'punctuation') return 0
  return Number('([{'.includes(text)) - Number(')]}'.includes(text))
}
