import type { Phrase } from '../errors/phrase.js'
import { EXPECTED_SYNTAX, FOUND, HINTS } from '../errors/phrases.js'
import { fail, type SourceLocation } from '../errors/problem.js'
import type { Ast } from '../query/ast.js'
import { numberBeforeColon, type Token, type TokenKind, tokenAt } from './lexer.js'
import type { ComplexityLimiter } from './parse-limits.js'

/** Operators of SQL and JavaScript and their OData equivalents. */
const ODATA_EQUIVALENTS: ReadonlyMap<string, string> = new Map(
  // biome-ignore format: table
  [
    ['=', 'eq'], ['==', 'eq'], ['===', 'eq'], ['!=', 'ne'], ['!==', 'ne'], ['<>', 'ne'], ['<', 'lt'], ['<=', 'le'], ['>', 'gt'], ['>=', 'ge'],
    ['&&', 'and'], ['&', 'and'], ['||', 'or'], ['|', 'or'], ['!', 'not'], ['+', 'add'], ['*', 'mul'], ['%', 'mod'], ['like', 'contains(field,text)'],
    ['is', 'eq'],
  ],
)

/** Reads the tokens of a text one at a time. The base of the parser, without any grammar. */
export class TokenReader {
  protected next: Token
  /** End of the last consumed token. */
  private previousEnd = 0
  /** Offsets of tokens that look like a time of day but are a number with a colon after it. */
  private readonly numbersBeforeColon = new Set<number>()

  constructor(
    protected readonly text: string,
    protected readonly source: string,
    protected readonly limiter: ComplexityLimiter,
  ) {
    this.next = tokenAt(text, 0)
  }

  /**
   * Parses the whole text by a rule. Nothing may follow it. `$filter` does not allow trailing spaces (OData
   * ABNF, filter).
   */
  parseToEnd<T>(rule: (parser: this) => T, blanks: 'blanks' | 'noBlanks' = 'blanks'): T {
    const result = rule(this)
    if (this.next.kind !== 'end') this.unexpected(EXPECTED_SYNTAX.operatorOrEnd)
    if (this.next.hasLeadingWhitespace && blanks === 'noBlanks')
      this.unexpected(EXPECTED_SYNTAX.noSpacesAtEnd)
    return result
  }

  protected position(token: Token = this.next): SourceLocation {
    return { source: this.source, offset: token.offset }
  }

  protected advance(): Token {
    const token = this.next
    this.previousEnd = token.end
    this.next = this.tokenFrom(token.end)
    return token
  }

  private tokenFrom(offset: number): Token {
    const token = tokenAt(this.text, offset)
    return this.numbersBeforeColon.has(token.offset) ? numberBeforeColon(token) : token
  }

  /** Reads the time of day at this offset, which is `next` or a later token, as a number and a colon. */
  protected splitTimeAt(offset: number): void {
    this.numbersBeforeColon.add(offset)
    this.next = this.tokenFrom(this.previousEnd)
  }

  /**
   * Returns the characters that a sticky pattern matches here, including white space, without reading tokens.
   */
  protected readRaw(pattern: RegExp): string {
    pattern.lastIndex = this.previousEnd
    const [text = ''] = pattern.exec(this.text) ?? []
    this.resume(this.previousEnd + text.length)
    return text
  }

  /** Lets another parser read from the current position. It returns the position where it stopped. */
  protected delegateTo<T>(
    read: (text: string, offset: number) => { readonly value: T; readonly end: number },
  ): T {
    const { value, end } = read(this.text, this.previousEnd)
    this.resume(end)
    return value
  }

  protected isPunctuation(text: string): boolean {
    return this.next.text === text && this.next.kind === 'punctuation'
  }

  protected accept(text: string): boolean {
    const found = this.isPunctuation(text)
    if (found) this.advance()
    return found
  }

  /** Like `accept`, without white space before the token, as between a name and its bracket or slash. */
  protected acceptAdjacent(text: string): boolean {
    return !this.next.hasLeadingWhitespace && this.accept(text)
  }

  protected expect(text: string, expected = EXPECTED_SYNTAX.text(text)): void {
    if (!this.accept(text)) this.unexpected(expected)
  }

  protected expectKind(kind: TokenKind, expected: Phrase): Token {
    return this.next.kind === kind ? this.advance() : this.unexpected(expected)
  }

  /** Consumes a simple identifier (OData ABNF, odataIdentifier). */
  protected expectIdentifier(expected: Phrase): string {
    const { text } = this.next
    return text.startsWith('$') || text.includes('.')
      ? this.unexpected(expected)
      : this.expectKind('name', expected).text
  }

  /** Consumes the name of a field, or of a type with its namespace. */
  protected expectQualifiedName(expected: Phrase): string {
    return this.next.text.startsWith('$') ? this.unexpected(expected) : this.expectKind('name', expected).text
  }

  /** Returns true for a keyword, in any case. */
  protected isKeyword(word: string, token: Token = this.next): boolean {
    return token.kind === 'name' && token.text.toLowerCase() === word
  }

  /** Parses one or more items separated by commas. */
  protected commaSeparated<T>(item: () => T): T[] {
    const at = this.position()
    const items = [item()]
    while (this.accept(',')) {
      this.limiter.checkListLength(items.length + 1, at)
      items.push(item())
    }
    return items
  }

  /** Consumes the closing bracket after items. */
  protected expectClosing<T>(items: T, bracket = ')'): T {
    this.expect(bracket, EXPECTED_SYNTAX.operatorOr(bracket))
    return items
  }

  protected callNode(fn: string, args: readonly Ast[], at: SourceLocation): Ast {
    return this.limiter.countNode({ kind: 'call', fn, args, at }, at, args)
  }

  protected unexpected(
    expected: Phrase,
    token: Token = this.next,
    hint = this.hintFor(token, expected),
  ): never {
    return fail({
      kind: 'Syntax',
      expected,
      ...(hint !== undefined && { hint }),
      found: this.describeToken(token),
      at: this.position(token),
    })
  }

  private hintFor(token: Token, expected: Phrase): Phrase | undefined {
    const cut =
      !token.hasLeadingWhitespace &&
      this.text[this.previousEnd - 1] === "'" &&
      token.kind !== 'punctuation' &&
      expected !== EXPECTED_SYNTAX.blank
    if (token.text === "'" || cut) return HINTS.doubleQuote
    if (token.kind === 'typed') return HINTS.spacesAroundOperators
    if (token.text.startsWith('"')) return HINTS.singleQuotes
    const meant = ODATA_EQUIVALENTS.get(token.text.toLowerCase())
    return meant === undefined ? undefined : HINTS.odataOperator(meant)
  }

  private describeToken(token: Token): string {
    if (token.kind === 'end') return token.hasLeadingWhitespace ? FOUND.spaces : FOUND.end
    if (token.text === "'") return FOUND.openString
    return token.kind === 'string' ? FOUND.string(token.text) : FOUND.text(token.text)
  }

  private resume(offset: number): void {
    this.previousEnd = offset
    this.next = this.tokenFrom(offset)
  }
}
