import { expect, test } from 'vitest'
import { toSql } from '../../../src/data/sql/expression.js'
import { bindParameters, toStatementTemplate } from '../../../src/data/sql/statement-template.js'
import { type Expr, nullLiteral, parameter, textLiteral } from '../../../src/query/plan.js'

const bind = (expr: Expr, ...values: unknown[]) =>
  bindParameters(toStatementTemplate(toSql(expr), 'generic'), values)
const listOf = (...items: Expr[]): Expr => ({ kind: 'list', items, type: 'Collection(String)' })

test('a parameter is filled with the value of each request', () => {
  const template = toStatementTemplate(toSql(parameter(0, 'Date')), 'generic')
  expect(template.text).toBe('$1::date')
  expect(bindParameters(template, ['2024-01-01']).values).toEqual(['2024-01-01'])
  expect(bindParameters(template, ['2024-01-02']).values).toEqual(['2024-01-02'])
})

test('parameters in a list are filled too', () => {
  const { values } = bind(listOf(parameter(1, 'String'), textLiteral('b'), parameter(0, 'String')), 'c', 'a')
  expect(values).toEqual(['a', 'b', 'c'])
})

test('a missing value is an error, not null', () => {
  expect(() => bind(parameter(1, 'String'), 'a')).toThrow('no value for parameter 1')
})

test('literals do not change', () => {
  expect(bind(listOf(textLiteral('\0 0'), nullLiteral('String')), 'a').values).toEqual([['\0 0', null]])
})
