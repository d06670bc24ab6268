import { readFileSync } from 'node:fs'

/** A code block of a page: the info string and the text. */
export interface CodeBlock {
  readonly language: string
  /** The name of the file that it contains, if any. */
  readonly file: string | undefined
  readonly text: string
}

const FENCED_BLOCK = /^```(\w+)(?: (\S+))?\n(.*?)^```$/gms

/** Returns the code blocks of a page of docs/ in order. */
export function readCodeBlocks(page: string): readonly CodeBlock[] {
  const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8')
  return [...text.matchAll(FENCED_BLOCK)].map(([, language = '', file, body = '']) => ({
    language,
    file,
    text: body,
  }))
}

/** Returns the text of the block with this file. */
export function readCodeBlockOfFile(page: string, file: string): string {
  const block = readCodeBlocks(page).find(b => b.file === file)
  if (!block) throw new Error(`${page} has no ${file}`)
  return block.text
}
