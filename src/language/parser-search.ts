import type { Phrase } from '../errors/phrase.js'
import { EXPECTED_SYNTAX, FOUND, HINTS } from '../errors/phrases.js'
import { fail, type SourceLocation } from '../errors/problem.js'
import type { SearchAst } from '../query/ast.js'
import { unquote } from './literals.js'
import type { ComplexityLimiter } from './parse-limits.js'

const BLANK = /[ \t]/
const BLANKS = /[ \t]*/y
const PHRASE = /"([^"]*)"/y
/**
 * Every character except white space, brackets and double quotes (OData ABNF, searchWord). Inside the brackets
 * of another option a semicolon ends the search. In $search itself it is part of a word, where a URL has it as
 * %3B.
 */
const WORD = /[^\s()"]+/y
const WORD_IN_BRACKETS = /[^\s()";]+/y
/** Words that are operators. A search for one of them needs double quotes. */
const RESERVED_WORD = /^(?:AND|OR|NOT)$/
/** A search in single quotes is one phrase as an end user typed it (OData ABNF, searchExpr-incomplete). */
const QUOTED_SEARCH = /[ \t]*('[^']+(?:''[^']*)*')[ \t]*(?=$|[);])/y
const SEARCH_OPERATORS = { and: /AND(?=[ \t])/y, or: /OR(?=[ \t])/y, not: /NOT(?=[ \t])/y } as const

/**
 * Parses a search expression from an offset up to the end or an unmatched closing bracket, with `inBrackets` also
 * up to a semicolon. NOT binds more tightly than AND, and AND more tightly than OR. AND can be omitted. The words
 * are operators only in upper case (Part 2, 5.1.8).
 */
export function parseSearchExpression(
  text: string,
  offset: number,
  source: string,
  budget: ComplexityLimiter,
  place: 'inBrackets' | 'alone',
): { readonly value: SearchAst; readonly end: number } {
  return new SearchParser(text, offset, source, budget, place === 'inBrackets').parse()
}

class SearchParser {
  constructor(
    private readonly text: string,
    private offset: number,
    private readonly source: string,
    private readonly limiter: ComplexityLimiter,
    private readonly isInBrackets: boolean,
  ) {}

  parse(): { readonly value: SearchAst; readonly end: number } {
    const at = this.position()
    const [typed, quoted] = this.match(QUOTED_SEARCH) ?? []
    if (typed !== undefined && quoted !== undefined)
      return { value: this.phraseNode(unquote(quoted), at), end: this.offset }
    const value = this.orExpression()
    this.match(BLANKS)
    return { value, end: this.offset }
  }

  private orExpression(): SearchAst {
    let left = this.andExpression()
    while (this.acceptOperator('or')) left = this.binaryNode('or', left, this.andExpression())
    return left
  }

  private andExpression(): SearchAst {
    let left = this.operand()
    while (!this.atEnd() && !this.isOperator('or')) {
      if (!this.acceptOperator('and') && !BLANK.test(this.text[this.offset - 1] ?? ''))
        this.unexpected(EXPECTED_SYNTAX.blank)
      left = this.binaryNode('and', left, this.operand())
    }
    return left
  }

  private operand(): SearchAst {
    this.match(BLANKS)
    const at = this.position()
    if (this.text[this.offset] === '(') return this.limiter.nested(at, () => this.parenthesized())
    if (this.acceptOperator('not')) {
      const operand = this.limiter.nested(at, () => this.operand())
      return this.limiter.countNode({ kind: 'not', operand }, at, [operand])
    }
    const [, phrase] = this.match(PHRASE) ?? []
    if (phrase?.trim()) return this.phraseNode(phrase, at)
    const [word = ''] = this.match(this.isInBrackets ? WORD_IN_BRACKETS : WORD) ?? []
    if (RESERVED_WORD.test(word)) return this.failReservedWord(word, at)
    return word === '' ? this.unexpected(EXPECTED_SYNTAX.searchTerm) : this.phraseNode(word, at)
  }

  private parenthesized(): SearchAst {
    this.offset++
    const inner = this.orExpression()
    this.match(BLANKS)
    if (this.text[this.offset] !== ')') this.unexpected(EXPECTED_SYNTAX.searchTermOrClosing)
    this.offset++
    return inner
  }

  private binaryNode(kind: 'and' | 'or', left: SearchAst, right: SearchAst): SearchAst {
    return this.limiter.countNode({ kind, left, right }, this.position(), [left, right])
  }

  private phraseNode(text: string, at: SourceLocation): SearchAst {
    return this.limiter.countNode({ kind: 'phrase', text, at }, at)
  }

  /** Consumes an operator if it comes next and an operand can follow. */
  private acceptOperator(name: keyof typeof SEARCH_OPERATORS): boolean {
    if (!this.isOperator(name)) return false
    this.match(SEARCH_OPERATORS[name])
    return true
  }

  private isOperator(name: keyof typeof SEARCH_OPERATORS): boolean {
    this.match(BLANKS)
    const pattern = SEARCH_OPERATORS[name]
    pattern.lastIndex = this.offset
    return (
      pattern.test(this.text) &&
      /[^\s);]/.test(this.text.slice(this.offset + name.length, this.offset + name.length + 64))
    )
  }

  private atEnd(): boolean {
    this.match(BLANKS)
    const c = this.text[this.offset]
    return c === undefined || c === ')' || (c === ';' && this.isInBrackets)
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.offset
    const found = pattern.exec(this.text)
    if (found) this.offset = pattern.lastIndex
    return found
  }

  private position(): SourceLocation {
    return { source: this.source, offset: this.offset }
  }

  private failReservedWord(word: string, at: SourceLocation): never {
    return fail({
      kind: 'Syntax',
      expected: EXPECTED_SYNTAX.searchTerm,
      found: FOUND.text(word),
      hint: HINTS.searchWord(word),
      at,
    })
  }

  private unexpected(expected: Phrase): never {
    const found = this.text[this.offset]
    return fail({
      kind: 'Syntax',
      expected,
      found: found === undefined ? FOUND.end : FOUND.text(found),
      at: this.position(),
    })
  }
}
