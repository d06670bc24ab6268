import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'

const PAGES = ['README.md', ...readdirSync('docs').map(name => `docs/${name}`)]

const withoutCode = (text: string): string => text.replace(/^```.*?^```$/gms, '')

/** The anchors that GitHub gives the headings of a page. */
const anchorsOf = (page: string): readonly string[] =>
  [...withoutCode(readFileSync(page, 'utf8')).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

function isBroken(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : normalize(join(dirname(page), path))
  if (!existsSync(target)) return true
  return anchor !== undefined && !anchorsOf(target).includes(anchor)
}

/** Paths of files are written from the root of the project or, short, from src/. */
const isMissing = (path: string): boolean => [path, `src/${path}`].every(candidate => !existsSync(candidate))

describe.each(PAGES)('%s', page => {
  const text = withoutCode(readFileSync(page, 'utf8'))

  test('its links lead to files and headings that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = '']) => link)
    expect(links.filter(link => isBroken(page, link))).toEqual([])
  })

  test('the source files that it names exist', () => {
    const paths = [
      ...text.matchAll(
        /`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|mjs|cjs|prisma|sql|json|mmd)|(?:test|bench|prisma)\/(?:[\w.-]+\/)*)`/g,
      ),
    ].map(([, path = '']) => path)
    expect(paths.filter(isMissing)).toEqual([])
  })
})
