import { type At, fail } from '../errors/problem.js'
import type { Ast } from '../query/ast.js'
import { type Token, type TokenKind, tokenAt } from './lexer.js'
import type { Budget } from './parser-budget.js'

/** What people write who come from SQL or JavaScript, and how OData says it. */
const MEANT: ReadonlyMap<string, string> = new Map(
  // biome-ignore format: table
  [
    ['=', 'eq'], ['==', 'eq'], ['===', 'eq'], ['!=', 'ne'], ['!==', 'ne'], ['<>', 'ne'], ['<', 'lt'], ['<=', 'le'], ['>', 'gt'], ['>=', 'ge'],
    ['&&', 'and'], ['&', 'and'], ['||', 'or'], ['|', 'or'], ['!', 'not'], ['+', 'add'], ['*', 'mul'], ['%', 'mod'], ['like', 'contains(field,text)'],
    ['is', 'eq'],
  ],
)

/** What is missing where an operator touches its neighbour. */
export const BLANK = 'a blank'

/** Reads the tokens of one text, one at a time: the first layer of the parser, which knows no grammar. */
export class TokenReader {
  protected next: Token
  /** End of the token that was taken last. */
  private end = 0

  constructor(
    protected readonly text: string,
    protected readonly source: string,
    protected readonly budget: Budget,
  ) {
    this.next = tokenAt(text, 0)
  }

  /**
   * Reads the whole text by a rule: nothing may stand behind it. `$filter` takes no blanks at its end either
   * (OData ABNF, filter).
   */
  whole<T>(rule: (parser: this) => T, blanks: 'blanks' | 'noBlanks' = 'blanks'): T {
    const result = rule(this)
    if (this.next.kind !== 'end') this.unexpected('an operator or the end')
    if (this.next.blank && blanks === 'noBlanks') this.unexpected('no blanks at the end')
    return result
  }

  protected at(token: Token = this.next): At {
    return { source: this.source, offset: token.offset }
  }

  protected advance(): Token {
    const token = this.next
    this.end = token.end
    this.next = tokenAt(this.text, token.end)
    return token
  }

  /** The characters from here that match a sticky expression, not as tokens; blanks count. */
  protected raw(pattern: RegExp): string {
    pattern.lastIndex = this.end
    const [text = ''] = pattern.exec(this.text) ?? []
    this.resume(this.end + text.length)
    return text
  }

  /** Lets another reader read from where this one stands; it returns where it stopped. */
  protected lend<T>(read: (text: string, offset: number) => { readonly value: T; readonly end: number }): T {
    const { value, end } = read(this.text, this.end)
    this.resume(end)
    return value
  }

  protected is(text: string): boolean {
    return this.next.text === text && this.next.kind === 'punctuation'
  }

  protected skip(text: string): boolean {
    const found = this.is(text)
    if (found) this.advance()
    return found
  }

  /** The same with no blanks in front, as between a name and its bracket or slash. */
  protected skipClose(text: string): boolean {
    return !this.next.blank && this.skip(text)
  }

  protected expect(text: string, expected = `'${text}'`): void {
    if (!this.skip(text)) this.unexpected(expected)
  }

  protected take(kind: TokenKind, expected: string): Token {
    return this.next.kind === kind ? this.advance() : this.unexpected(expected)
  }

  /** A name alone (OData ABNF, odataIdentifier). */
  protected identifier(expected: string): string {
    const { text } = this.next
    return text.startsWith('$') || text.includes('.')
      ? this.unexpected(expected)
      : this.take('name', expected).text
  }

  /** A name of a field, or of a type with its namespace. */
  protected qualified(expected: string): string {
    return this.next.text.startsWith('$') ? this.unexpected(expected) : this.take('name', expected).text
  }

  /** A word of the language, in any case. */
  protected isWord(word: string, token: Token = this.next): boolean {
    return token.kind === 'name' && token.text.toLowerCase() === word
  }

  /** One item or more, with commas between them. */
  protected list<T>(item: () => T): T[] {
    const at = this.at()
    const items = [item()]
    while (this.skip(',')) {
      this.budget.list(items.length + 1, at)
      items.push(item())
    }
    return items
  }

  /** Items up to a closing bracket. */
  protected closing<T>(items: T, bracket = ')'): T {
    this.expect(bracket, `an operator or '${bracket}'`)
    return items
  }

  protected call(fn: string, args: readonly Ast[], at: At): Ast {
    return this.budget.node({ kind: 'call', fn, args, at }, at, args)
  }

  protected unexpected(expected: string, token: Token = this.next): never {
    return fail({
      kind: 'Syntax',
      expected: expected + this.advice(token, expected),
      found: this.show(token),
      at: this.at(token),
    })
  }

  private advice(token: Token, expected: string): string {
    const cut =
      !token.blank && this.text[this.end - 1] === "'" && token.kind !== 'punctuation' && expected !== BLANK
    if (token.text === "'" || cut) return ' (a quote inside a text is written twice)'
    if (token.kind === 'typed') return ' (blanks stand around operators)'
    if (token.text.startsWith('"')) return ' (texts stand in single quotes)'
    const meant = MEANT.get(token.text.toLowerCase())
    return meant === undefined ? '' : ` (OData writes '${meant}')`
  }

  private show(token: Token): string {
    if (token.kind === 'end') return token.blank ? 'blanks' : 'the end'
    if (token.text === "'") return 'a text without its closing quote'
    return token.kind === 'string' ? `the text ${token.text}` : `'${token.text}'`
  }

  private resume(offset: number): void {
    this.end = offset
    this.next = tokenAt(this.text, offset)
  }
}
