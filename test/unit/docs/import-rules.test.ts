import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'

interface Rule {
  readonly name: string
  readonly comment: string
}

/** The layers that each layer may import, as the comments of the import rules list them. */
function readLayers(): ReadonlyMap<string, readonly string[]> {
  const { forbidden } = createRequire(import.meta.url)('../../../.dependency-cruiser.cjs') as {
    readonly forbidden: readonly Rule[]
  }
  return new Map(
    forbidden.flatMap(({ comment }): [string, readonly string[]][] => {
      const [, layer = '', list = ''] = /^(\w+) may import (.*)\.$/.exec(comment) ?? []
      return layer === '' ? [] : [[layer, list.startsWith('nothing') ? [] : list.split(', ')]]
    }),
  )
}

/** Renders the rules without the arrows that follow from a path of others. */
function renderDiagram(layers: ReadonlyMap<string, readonly string[]>): string {
  const isReachable = (from: string, to: string): boolean =>
    (layers.get(from) ?? []).some(next => next === to || isReachable(next, to))
  const lines = [...layers].flatMap(([layer, allowed]) =>
    allowed
      .filter(target => !allowed.some(other => other !== target && isReachable(other, target)))
      .map(target => `  ${layer} --> ${target}`),
  )
  return ['graph LR', ...lines].join('\n')
}

test('the diagram in docs/architecture.md shows the import rules', () => {
  const page = readFileSync('docs/architecture.md', 'utf8')
  const [, diagram] = /^```mermaid import-rules\n(.*?)\n?```$/ms.exec(page) ?? []
  const layers = readLayers()
  expect(layers.size).toBeGreaterThan(10)
  expect(diagram).toBe(renderDiagram(layers))
})
