import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

test('docs/expectations.md names tests that exist, for each expectation', () => {
  const rows = readFileSync('docs/expectations.md', 'utf8')
    .split('\n')
    .filter(line => line.startsWith('| ') && !line.startsWith('| Expectation'))
  expect(rows).toHaveLength(60)
  for (const row of rows) {
    const named = [...row.matchAll(/`(test\/[^`]+)`([^;|]*)/g)]
    expect(named, row).not.toEqual([])
    for (const [, file = '', ids = ''] of named) {
      expect(existsSync(file), file).toBe(true)
      const text = readFileSync(file, 'utf8')
      for (const id of ids.trim().split(' ')) expect(text, row).toContain(id)
    }
  }
})
