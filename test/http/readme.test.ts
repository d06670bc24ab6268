import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ServiceProcess, spawnService } from '../support/service-process.js'
import { runShell } from '../support/shell.js'

// Runs the commands of the README in order in one shell, against the service with its sample market.

/** Returns the indented code of a section, without the lines that install and start the service. */
function commandsOf(readme: string, heading: string): string {
  const [, section = ''] = new RegExp(`^## ${heading}\n(.*?)^## `, 'ms').exec(readme) ?? []
  const lines = section.split('\n').filter(line => line.startsWith('    '))
  return lines
    .map(line => line.slice(4))
    .filter(line => !/^npm (install|start)$/.test(line))
    .join('\n')
}

let dataDir = ''
let service: ServiceProcess
let answers: readonly string[] = []
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'listing-readme-'))
  service = spawnService({ DATA_DIR: dataDir })
  const base = `http://127.0.0.1:${await service.port}`
  const readme = await readFile('README.md', 'utf8')
  const commands = ['Quick start', 'Examples']
    .map(heading => commandsOf(readme, heading))
    .join('\n')
    .replace(/^export BASE=.*$/m, `export BASE=${base}`)
  answers = await runShell(commands, {
    DATA_DIR: dataDir,
    PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
  })
}, 180_000)
afterAll(async () => {
  service.child.kill('SIGTERM')
  await service.exit
  await rm(dataDir, { recursive: true, force: true })
})

const parse = (text: string | undefined) => JSON.parse(text ?? '')

describe('the commands of the README', () => {
  test('an agent sees 491 of the 500 listings', () => {
    expect(answers[0]).toBe('491')
  })

  test('reads return records', () => {
    const [, expensive, expanded, groups, found, batch] = answers
    expect(parse(expensive)).toMatchObject({ '@odata.count': 230, value: { length: 5 } })
    expect(parse(expanded).value[0].Media[0].MediaURL).toMatch(/^https:/)
    expect(parse(groups).value[0]).toEqual({
      City: expect.any(String),
      Listings: expect.any(Number),
      MeanPrice: expect.any(Number),
    })
    expect(parse(found).value).toHaveLength(3)
    expect(parse(batch).responses).toMatchObject([{ status: 200 }, { status: 200 }])
  })

  test('a listing is priced, published, sold and deleted, over OData and over GraphQL', () => {
    const [priced, published, sold, deleted, list, life] = answers.slice(6)
    expect(parse(priced)).toMatchObject({ StandardStatus: 'Incomplete', ListPrice: 450_000 })
    expect(parse(published)).toMatchObject({ StandardStatus: 'Active' })
    expect(parse(sold)).toMatchObject({ StandardStatus: 'Sold', SoldPrice: 445_000 })
    expect(deleted).toMatch(/^HTTP\/1\.1 204 /)
    expect(parse(list).data.properties.nodes).toHaveLength(5)
    expect(parse(life)).toEqual({
      data: {
        publishProperty: { StandardStatus: 'Active' },
        sellProperty: { StandardStatus: 'Sold', SoldPrice: 445_000 },
        deleteProperty: { id: expect.any(String) },
      },
    })
  })

  test('the event stream shows a change with its record', () => {
    const [, data] = /^event: next\ndata: (.*)$/m.exec(answers.at(-1) ?? '') ?? []
    expect(parse(data).data.propertyChanged).toEqual({
      EntityEventSequence: expect.any(Number),
      ListingKey: expect.stringMatching(/^Draft/),
      property: { City: 'Waco', ListPrice: 120_000, StandardStatus: 'Incomplete' },
    })
    expect(answers).toHaveLength(13)
  })
})
