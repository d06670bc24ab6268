import { FEATURES } from '../errors/features.js'
import type { Phrase } from '../errors/phrase.js'
import { EXPECTED_SYNTAX, EXPECTED_VALUE, OPTION_CONTEXTS } from '../errors/phrases.js'
import { fail } from '../errors/problem.js'
import type { ExpandAst, Query, SelectAst } from '../query/ast.js'
import { ApplyParser } from './parser-apply.js'
import { type SystemQueryOption, suggestOption, toSystemQueryOption } from './system-query-options.js'

type ExpandForm = ExpandAst['form']
type OptionRule = (parser: OptionParser) => Partial<Query>

/** The value of an option that is not an expression: the text up to the end of the option. */
const OPTION_VALUE = /[^;)]*/y

/** Parsers of the options that are part of a query, at the top level and inside `$expand`. */
const OPTION_RULES: { readonly [K in SystemQueryOption]?: OptionRule } = {
  $apply: p => ({ apply: p.transformations() }),
  $filter: p => ({ filter: p.expression() }),
  $orderby: p => ({ orderBy: p.orderByItems() }),
  $select: p => ({ select: p.selectItems() }),
  $expand: p => ({ expand: p.expandItems() }),
  $compute: p => ({ compute: p.computeItems() }),
  $search: p => ({ search: p.searchExpression() }),
  $top: p => ({ top: toNonNegativeInteger('$top', p.rawValue()) }),
  $skip: p => ({ skip: toNonNegativeInteger('$skip', p.rawValue()) }),
  $count: p => ({ count: toBoolean('$count', p.rawValue()) }),
}

/**
 * Options allowed in the brackets of an item of `$expand` or of a collection in `$select` (OData ABNF,
 * expandOption and selectOptionPC).
 */
const COUNT_OPTIONS: readonly SystemQueryOption[] = ['$filter', '$search']
const REF_OPTIONS: readonly SystemQueryOption[] = [...COUNT_OPTIONS, '$orderby', '$skip', '$top', '$count']
const NESTED_OPTIONS: { readonly [K in ExpandForm | 'star' | 'select']: readonly SystemQueryOption[] } = {
  records: [...REF_OPTIONS, '$select', '$expand', '$compute', '$levels'],
  references: REF_OPTIONS,
  count: COUNT_OPTIONS,
  star: ['$levels'],
  select: [...REF_OPTIONS, '$select', '$compute'],
}
const NESTED_CONTEXTS: { readonly [K in keyof typeof NESTED_OPTIONS]: Phrase } = {
  records: OPTION_CONTEXTS.expandedRecords,
  references: OPTION_CONTEXTS.references,
  count: OPTION_CONTEXTS.count,
  star: OPTION_CONTEXTS.expandedStar,
  select: OPTION_CONTEXTS.selectedField,
}

const isQualified = (name = '') => name.includes('.')

const EXPAND_FORMS_BY_SEGMENT: ReadonlyMap<string, ExpandForm> = new Map([
  ['$ref', 'references'],
  ['$count', 'count'],
])

/** Parses query options (Part 2, 5.1.2 to 5.1.8). */
export class OptionParser extends ApplyParser {
  /** Parses the value of an option up to its end. */
  option(name: SystemQueryOption): Partial<Query> {
    return OPTION_RULES[name]?.(this) ?? {}
  }

  selectItems(): readonly SelectAst[] {
    return this.commaSeparated(() => this.selectItem())
  }

  expandItems(): readonly ExpandAst[] {
    const items = this.commaSeparated(() => this.expandItem())
    const seen = new Set<string>()
    for (const { name, form, at } of items) {
      const item = form === 'count' ? `${name}/$count` : name
      if (seen.has(item)) fail({ kind: 'DuplicateItem', item, at })
      seen.add(item)
    }
    return items
  }

  /** Returns the text up to the end of the option. */
  rawValue(): string {
    return this.readRaw(OPTION_VALUE)
  }

  private selectItem(): SelectAst {
    const at = this.position()
    if (this.accept('*')) return { name: '*', at }
    if (this.next.kind === 'alias')
      return fail({ kind: 'NotImplemented', feature: FEATURES.annotationInSelect(this.next.text), at })
    const names = [this.expectQualifiedName(EXPECTED_SYNTAX.fieldOrStar)]
    while (this.acceptAdjacent('/')) names.push(this.expectQualifiedName(EXPECTED_SYNTAX.field))
    if (names.length === 1 && this.acceptAllOperations()) return { name: `${names[0]}.*`, at }
    if (this.acceptAdjacent('(')) {
      this.nestedOptions('select')
      fail({ kind: 'NotImplemented', feature: FEATURES.selectOptions, at })
    }
    return { name: names.join('/'), at }
  }

  /** Parses `.*` after a namespace: all of its actions and functions. */
  private acceptAllOperations(): boolean {
    if (this.next.hasLeadingWhitespace || this.next.text !== '.') return false
    this.advance()
    if (!this.acceptAdjacent('*')) this.unexpected(EXPECTED_SYNTAX.star)
    return true
  }

  private expandItem(): ExpandAst {
    const at = this.position()
    if (this.next.text === '$value')
      return fail({ kind: 'NotImplemented', feature: FEATURES.expandValue, at })
    const names = [this.accept('*') ? '*' : this.expectQualifiedName(EXPECTED_SYNTAX.navigationOrStar)]
    let form: ExpandForm = 'records'
    while (form === 'records' && this.acceptAdjacent('/')) {
      // A type cast segment can come before or after the navigation. The binder resolves it.
      if (isQualified(this.next.text) || (isQualified(names.at(-1)) && !this.next.text.startsWith('$')))
        names.push(this.expectQualifiedName(EXPECTED_SYNTAX.navigation))
      else form = this.expandForm()
    }
    const name = names.join('/')
    const query = this.acceptAdjacent('(') ? this.nestedOptions(name === '*' ? 'star' : form) : {}
    return { name, form, query, at }
  }

  private expandForm(): ExpandForm {
    const form = this.next.hasLeadingWhitespace ? undefined : EXPAND_FORMS_BY_SEGMENT.get(this.next.text)
    if (!form) return this.unexpected(EXPECTED_SYNTAX.refOrCount)
    this.advance()
    return form
  }

  /** Parses options up to the closing bracket. The opening bracket has been consumed. */
  private nestedOptions(context: keyof typeof NESTED_OPTIONS): Query {
    return this.limiter.nested(this.position(), () => {
      const seen = new Set<SystemQueryOption>()
      let query: Query = {}
      do {
        query = { ...query, ...this.nestedOption(context, seen) }
      } while (this.accept(';'))
      return this.expectClosing(query)
    })
  }

  private nestedOption(context: keyof typeof NESTED_OPTIONS, seen: Set<SystemQueryOption>): Partial<Query> {
    const at = this.position()
    if (this.next.kind === 'alias')
      return fail({ kind: 'NotImplemented', feature: FEATURES.aliasInExpand, at })
    const written = this.expectKind('name', EXPECTED_SYNTAX.queryOption).text
    const suggestion = suggestOption(written)
    const name =
      toSystemQueryOption(written) ??
      fail({ kind: 'UnknownOption', option: written, ...(suggestion && { suggestion }) })
    if (seen.has(name)) fail({ kind: 'DuplicateOption', option: name })
    seen.add(name)
    if (name === '$apply' && context === 'records')
      fail({ kind: 'NotImplemented', feature: FEATURES.applyInExpand, at })
    if (!NESTED_OPTIONS[context].includes(name))
      fail({ kind: 'OptionNotAllowed', option: name, context: NESTED_CONTEXTS[context] })
    this.expect('=')
    return name === '$levels' ? toLevels(this.rawValue(), context) : this.option(name)
  }
}

/** Reads a non-negative integer. A number above the largest safe integer is reduced to it. */
function toNonNegativeInteger(option: SystemQueryOption, found: string): number {
  if (!/^\d+$/.test(found))
    fail({ kind: 'BadOptionValue', option, expected: EXPECTED_VALUE.nonNegativeInteger, found })
  return Math.min(Number(found), Number.MAX_SAFE_INTEGER)
}

function toBoolean(option: SystemQueryOption, found: string): boolean {
  if (!/^(?:true|false)$/i.test(found))
    fail({ kind: 'BadOptionValue', option, expected: EXPECTED_VALUE.boolean, found })
  return found.toLowerCase() === 'true'
}

/**
 * Checks `$levels` of a navigation (Part 2, 5.1.3.6). No navigation of the model leads to another of the same
 * name, so further levels are empty. Levels of `*` are not, and the service does not implement them.
 */
function toLevels(found: string, context: keyof typeof NESTED_OPTIONS): Partial<Query> {
  if (!/^(?:[1-9]\d*|max)$/i.test(found))
    fail({ kind: 'BadOptionValue', option: '$levels', expected: EXPECTED_VALUE.positiveIntegerOrMax, found })
  return context === 'star' && found !== '1'
    ? fail({ kind: 'NotImplemented', feature: FEATURES.expandStarLevels })
    : {}
}
