import { fail } from '../errors/problem.js'
import type { ExpandAst, Query, SelectAst } from '../query/ast.js'
import { type OptionName, suggestOption, toOptionName } from './option-table.js'
import { ApplyParser } from './parser-apply.js'

type Form = ExpandAst['form']
type Rule = (parser: OptionParser) => Partial<Query>

/** The value of an option that is no expression: up to the next option of the same brackets. */
const WORD = /[^;)]*/y

/**
 * How the value of each option that is part of a query is read. At the top and inside `$expand` the rules are
 * the same.
 */
const RULES: { readonly [K in OptionName]?: Rule } = {
  $apply: p => ({ apply: p.transformations() }),
  $filter: p => ({ filter: p.expression() }),
  $orderby: p => ({ orderBy: p.orderItems() }),
  $select: p => ({ select: p.selectItems() }),
  $expand: p => ({ expand: p.expandItems() }),
  $compute: p => ({ compute: p.computeItems() }),
  $search: p => ({ search: p.search() }),
  $top: p => ({ top: toWhole('$top', p.word()) }),
  $skip: p => ({ skip: toWhole('$skip', p.word()) }),
  $count: p => ({ count: toBoolean('$count', p.word()) }),
  $skiptoken: p => ({ skipToken: toToken('$skiptoken', p.word()) }),
}

/**
 * Options inside the brackets of an item of `$expand`, and of a collection in `$select` (OData ABNF,
 * expandOption and selectOptionPC).
 */
const COUNTED: readonly OptionName[] = ['$filter', '$search']
const REFERRED: readonly OptionName[] = [...COUNTED, '$orderby', '$skip', '$top', '$count']
const NESTED: { readonly [K in Form | 'star' | 'select']: readonly OptionName[] } = {
  records: [...REFERRED, '$select', '$expand', '$compute', '$levels'],
  references: REFERRED,
  count: COUNTED,
  star: ['$levels'],
  select: [...REFERRED, '$select', '$compute'],
}
const WHERE: { readonly [K in keyof typeof NESTED]: string } = {
  records: 'an expanded navigation',
  references: 'references ($ref)',
  count: 'a count',
  star: 'all navigations (*)',
  select: 'a selected field',
}

const isQualified = (name = '') => name.includes('.')

const FORMS: ReadonlyMap<string, Form> = new Map([
  ['$ref', 'references'],
  ['$count', 'count'],
])

/** Query options: lists of items around expressions (Part 2, 5.1.2 to 5.1.8). */
export class OptionParser extends ApplyParser {
  /** Reads the value of one option, from here to its end. */
  option(name: OptionName): Partial<Query> {
    return RULES[name]?.(this) ?? {}
  }

  selectItems(): readonly SelectAst[] {
    return this.list(() => this.selectItem())
  }

  expandItems(): readonly ExpandAst[] {
    const items = this.list(() => this.expandItem())
    const seen = new Set<string>()
    for (const { name, form, at } of items) {
      const item = form === 'count' ? `${name}/$count` : name
      if (seen.has(item)) fail({ kind: 'DuplicateItem', item, at })
      seen.add(item)
    }
    return items
  }

  /** The text up to the end of the option. */
  word(): string {
    return this.raw(WORD)
  }

  private selectItem(): SelectAst {
    const at = this.at()
    if (this.skip('*')) return { name: '*', at }
    if (this.next.kind === 'alias')
      return fail({ kind: 'NotImplemented', feature: 'annotations in $select', at })
    const names = [this.qualified('a field or *')]
    while (this.skipClose('/')) names.push(this.qualified('a field'))
    if (names.length === 1 && this.skipAll()) return { name: `${names[0]}.*`, at }
    if (this.skipClose('(')) {
      this.nested('select')
      fail({ kind: 'NotImplemented', feature: 'options inside $select', at })
    }
    return { name: names.join('/'), at }
  }

  /** `.*` behind a namespace: all actions and functions that it has. */
  private skipAll(): boolean {
    if (this.next.blank || this.next.text !== '.') return false
    this.advance()
    if (!this.skipClose('*')) this.unexpected('*')
    return true
  }

  private expandItem(): ExpandAst {
    const at = this.at()
    if (this.next.text === '$value') return fail({ kind: 'NotImplemented', feature: '$expand=$value', at })
    const names = [this.skip('*') ? '*' : this.qualified('a navigation or *')]
    let form: Form = 'records'
    while (form === 'records' && this.skipClose('/')) {
      // A type stands before or behind the navigation: the binder knows which there are.
      if (isQualified(this.next.text) || (isQualified(names.at(-1)) && !this.next.text.startsWith('$')))
        names.push(this.qualified('a navigation'))
      else form = this.form()
    }
    const name = names.join('/')
    const query = this.skipClose('(') ? this.nested(name === '*' ? 'star' : form) : {}
    return { name, form, query, at }
  }

  private form(): Form {
    const form = this.next.blank ? undefined : FORMS.get(this.next.text)
    if (!form) return this.unexpected('$ref or $count')
    this.advance()
    return form
  }

  /** The options of one pair of brackets, the first of which is taken already. */
  private nested(where: keyof typeof NESTED): Query {
    return this.budget.nest(this.at(), () => {
      const seen = new Set<OptionName>()
      let query: Query = {}
      do {
        query = { ...query, ...this.nestedOption(where, seen) }
      } while (this.skip(';'))
      return this.closing(query)
    })
  }

  private nestedOption(where: keyof typeof NESTED, seen: Set<OptionName>): Partial<Query> {
    const at = this.at()
    if (this.next.kind === 'alias')
      return fail({ kind: 'NotImplemented', feature: 'parameter aliases inside $expand', at })
    const written = this.take('name', 'a query option').text
    const suggestion = suggestOption(written)
    const name =
      toOptionName(written) ??
      fail({ kind: 'UnknownOption', option: written, ...(suggestion && { suggestion }) })
    if (seen.has(name)) fail({ kind: 'DuplicateOption', option: name })
    seen.add(name)
    if (!NESTED[where].includes(name)) fail({ kind: 'OptionNotAllowed', option: name, where: WHERE[where] })
    this.expect('=')
    return name === '$levels' ? toLevels(this.word(), where) : this.option(name)
  }
}

/** A non-negative whole number. One that is larger than any count is as good as the largest. */
function toWhole(option: OptionName, found: string): number {
  if (!/^\d+$/.test(found))
    fail({ kind: 'BadOptionValue', option, expected: 'a whole number, 0 or more', found })
  return Math.min(Number(found), Number.MAX_SAFE_INTEGER)
}

function toBoolean(option: OptionName, found: string): boolean {
  if (!/^(?:true|false)$/i.test(found))
    fail({ kind: 'BadOptionValue', option, expected: 'true or false', found })
  return found.toLowerCase() === 'true'
}

function toToken(option: OptionName, found: string): string {
  return found || fail({ kind: 'BadOptionValue', option, expected: 'the token of a next link', found })
}

/**
 * Levels of one navigation (Part 2, 5.1.3.6). No navigation of the model leads to one of its own name, so
 * that further levels are empty; only for `*`, which is every navigation of every navigation, they are not.
 */
function toLevels(found: string, where: keyof typeof NESTED): Partial<Query> {
  if (!/^(?:[1-9]\d*|max)$/i.test(found))
    fail({ kind: 'BadOptionValue', option: '$levels', expected: 'a whole number above 0, or max', found })
  return where === 'star' && found !== '1'
    ? fail({ kind: 'NotImplemented', feature: '$expand=* of several levels' })
    : {}
}
