import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FolderTarget } from '../../src/replicate/targets/folder.js'

async function readStateOf(files: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'replica-'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const target = await FolderTarget.open(folder)
  return target.readState().finally(() => target.close())
}

test.each<[string, Readonly<Record<string, string>>]>([
  ['its first file', { 'Member.1.0.ndjson': '' }],
  ['its first state', { 'Member.1.0.ndjson': '', 'Property.1.0.ndjson': '', 'state.json.new': '{"state":' }],
])('a first copy that was killed at %s begins again in the same folder', async (_step, files) => {
  expect(await readStateOf(files)).toBeUndefined()
})

test.each<[string, string]>([
  ['Member.1.0.ndjson', '{"MemberKey":"M1"}'],
  ['Member.2.0.ndjson', ''],
  ['notes.txt', ''],
])('a folder with the file %s of another program is refused', async (name, text) => {
  await expect(readStateOf({ [name]: text, 'Office.1.0.ndjson': '' })).rejects.toThrow(
    `the folder contains other files: ${name}.`,
  )
})
