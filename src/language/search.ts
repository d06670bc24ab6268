import { type At, fail } from '../errors/problem.js'
import type { SearchAst } from '../query/ast.js'
import { unquote } from './literals.js'
import type { Budget } from './parser-budget.js'

const BLANK = /[ \t]/
const BLANKS = /[ \t]*/y
const PHRASE = /"([^"]*)"/y
/** Everything but blanks, brackets, double quotes and semicolons (OData ABNF, searchWord). */
const WORD = /[^\s()";]+/y
/**
 * A whole search in single quotes is one text, as an end user typed it (OData ABNF, searchExpr-incomplete).
 */
const TYPED = /[ \t]*('[^']+(?:''[^']*)*')[ \t]*(?=$|[);])/y
const OPERATOR = { and: /AND(?=[ \t])/y, or: /OR(?=[ \t])/y, not: /NOT(?=[ \t])/y } as const

/**
 * Reads a search expression from an offset on, up to the end, a semicolon or a closing bracket that it has
 * not opened. NOT binds tighter than AND, which may be left out, and AND tighter than OR; they are operators
 * in capitals only, between operands (Part 2, 5.1.8).
 */
export function readSearch(
  text: string,
  offset: number,
  source: string,
  budget: Budget,
): { readonly value: SearchAst; readonly end: number } {
  return new SearchReader(text, offset, source, budget).read()
}

class SearchReader {
  constructor(
    private readonly text: string,
    private offset: number,
    private readonly source: string,
    private readonly budget: Budget,
  ) {}

  read(): { readonly value: SearchAst; readonly end: number } {
    const at = this.at()
    const [typed, quoted] = this.match(TYPED) ?? []
    if (typed !== undefined && quoted !== undefined)
      return { value: this.phrase(unquote(quoted), at), end: this.offset }
    const value = this.alternatives()
    this.match(BLANKS)
    return { value, end: this.offset }
  }

  private alternatives(): SearchAst {
    let left = this.conjunction()
    while (this.operator('or')) left = this.join('or', left, this.conjunction())
    return left
  }

  private conjunction(): SearchAst {
    let left = this.operand()
    while (!this.atEnd() && !this.sees('or')) {
      if (!this.operator('and') && !BLANK.test(this.text[this.offset - 1] ?? '')) this.unexpected('a blank')
      left = this.join('and', left, this.operand())
    }
    return left
  }

  private operand(): SearchAst {
    this.match(BLANKS)
    const at = this.at()
    if (this.text[this.offset] === '(') return this.budget.nest(at, () => this.bracketed())
    if (this.operator('not')) {
      const operand = this.budget.nest(at, () => this.operand())
      return this.budget.node({ kind: 'not', operand }, at, [operand])
    }
    const [, phrase] = this.match(PHRASE) ?? []
    if (phrase?.trim()) return this.phrase(phrase, at)
    const [word] = this.match(WORD) ?? []
    return word === undefined ? this.unexpected('a word or a phrase in double quotes') : this.phrase(word, at)
  }

  private bracketed(): SearchAst {
    this.offset++
    const inner = this.alternatives()
    this.match(BLANKS)
    if (this.text[this.offset] !== ')') this.unexpected("a word or ')'")
    this.offset++
    return inner
  }

  private join(kind: 'and' | 'or', left: SearchAst, right: SearchAst): SearchAst {
    return this.budget.node({ kind, left, right }, this.at(), [left, right])
  }

  private phrase(text: string, at: At): SearchAst {
    return this.budget.node({ kind: 'phrase', text, at }, at)
  }

  /** Takes an operator, if it stands here and an operand can follow. */
  private operator(name: keyof typeof OPERATOR): boolean {
    if (!this.sees(name)) return false
    this.match(OPERATOR[name])
    return true
  }

  private sees(name: keyof typeof OPERATOR): boolean {
    this.match(BLANKS)
    const pattern = OPERATOR[name]
    pattern.lastIndex = this.offset
    return (
      pattern.test(this.text) &&
      /[^\s);]/.test(this.text.slice(this.offset + name.length, this.offset + name.length + 64))
    )
  }

  private atEnd(): boolean {
    this.match(BLANKS)
    const c = this.text[this.offset]
    return c === undefined || c === ')' || c === ';'
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.offset
    const found = pattern.exec(this.text)
    if (found) this.offset = pattern.lastIndex
    return found
  }

  private at(): At {
    return { source: this.source, offset: this.offset }
  }

  private unexpected(expected: string): never {
    const found = this.text[this.offset]
    return fail({
      kind: 'Syntax',
      expected,
      found: found === undefined ? 'the end' : `'${found}'`,
      at: this.at(),
    })
  }
}
