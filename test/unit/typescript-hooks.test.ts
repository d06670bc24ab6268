import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'

// The hooks by which the service runs TypeScript. Vitest compiles the files of tests with its own hooks.

interface Hooks {
  load(
    url: string,
    context: object,
    nextLoad: () => never,
  ): { readonly format: string; readonly source: string }
  resolve(
    specifier: string,
    context: { readonly parentURL: string },
    nextResolve: (specifier: string) => { readonly url: string },
  ): { readonly url: string }
}

const HOOKS = '../../src/typescript-hooks.mjs'
const { load, resolve }: Hooks = await import(HOOKS)
const main = pathToFileURL('src/main.ts').href

test('functions are not named by a call when they are created', () => {
  const { source } = load(pathToFileURL('src/app.ts').href, {}, () => expect.fail('not compiled'))
  expect(source).toContain('=>')
  expect(source).not.toMatch(/__name|defineProperty/)
})

test('an import of a .js file resolves to the .ts file beside it, if there is one', () => {
  const nextResolve = (specifier: string) => ({ url: `next:${specifier}` })
  const find = (specifier: string) => resolve(specifier, { parentURL: main }, nextResolve).url
  expect(find('./app.js')).toBe(pathToFileURL('src/app.ts').href)
  expect(find('./nowhere.js')).toBe('next:./nowhere.js')
  expect(find('express')).toBe('next:express')
})
