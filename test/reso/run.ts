import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { exitWithUsage, parseCommandLine } from '../../src/cli/command.js'
import { messageOf } from '../../src/errors/problem.js'
import { ResoTool, type Result, type ServiceAccess } from './tool.js'

// npm run test:reso: runs the tests of RESO's certification tool against a running service. The tool is not a
// dependency: docs/odata.md tells how to install it. Creates and deletes drafts. Prints the counts of each test, and
// exits with 1 if one fails.

const USAGE = `usage: RESO_AUTH_TOKEN=… npm run test:reso -- --tool FOLDER [--url URL --agent KEY --office KEY --top-is-total]
FOLDER is that of the package reso-certification, built. The default URL is http://127.0.0.1:4000/odata. The token is that of a
member who may write listings. Agent and office of the drafts are by default those of the sample market. --top-is-total also
runs Core 2.1.0, which a service passes only with TOP_IS_TOTAL=true.`

function readOptions() {
  const { values } = parseCommandLine(USAGE, {
    options: {
      tool: { type: 'string', default: '' },
      url: { type: 'string', default: 'http://127.0.0.1:4000/odata' },
      agent: { type: 'string', default: 'M00000001' },
      office: { type: 'string', default: 'O0000001' },
      'top-is-total': { type: 'boolean', default: false },
    },
  })
  const token = process.env['RESO_AUTH_TOKEN'] ?? ''
  if (values.tool === '') exitWithUsage(USAGE, '--tool is missing.')
  if (token === '') exitWithUsage(USAGE, 'RESO_AUTH_TOKEN is not set.')
  return { ...values, tool: resolve(values.tool), token, url: values.url.replace(/\/$/, '') }
}

/** Creates a draft and returns its key. */
async function createDraft({ url, token }: ServiceAccess, draft: object): Promise<string> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  const response = await fetch(`${url}/Property`, { method: 'POST', headers, body: JSON.stringify(draft) })
  const text = await response.text()
  if (response.status !== 201) throw new Error(`POST ${url}/Property returned ${response.status}: ${text}`)
  return String(JSON.parse(text).ListingKey)
}

/** Writes the bodies of Add/Edit to a folder, with drafts to change and to delete. */
async function writePayloads(folder: string, access: ServiceAccess, draft: object): Promise<void> {
  const ListingKey = await createDraft(access, draft)
  const payloads = {
    'create-succeeds': draft,
    'create-fails': { ...draft, ListPrice: -1 },
    'update-succeeds': { ListingKey, ListPrice: 110_000 },
    'update-fails': { ListingKey, StandardStatus: 'NotAStatus' },
    'delete-succeeds': { id: await createDraft(access, draft) },
    'delete-fails': { id: 'no-such-key' },
  }
  for (const [name, payload] of Object.entries(payloads))
    await writeFile(join(folder, `${name}.json`), JSON.stringify(payload))
}

function print({ name, passed, failed, skipped, problems }: Result): void {
  process.stdout.write(`${name}: ${passed} passed, ${failed} failed, ${skipped} skipped\n`)
  for (const problem of problems) process.stdout.write(`  ${problem}\n`)
}

async function run(): Promise<void> {
  const { tool: toolFolder, url, token, agent, office, 'top-is-total': topIsTotal } = readOptions()
  const access = { url, token }
  const payloads = await mkdtemp(join(tmpdir(), 'listing-reso-'))
  try {
    const tool = await ResoTool.load(toolFolder, access, payloads)
    const address = { StreetNumber: '123', StreetName: 'Main', City: 'Toronto' }
    const draft = { ListAgentKey: agent, ListOfficeKey: office, PropertyType: 'Residential', ...address }
    await writePayloads(payloads, access, draft)
    const tests = [
      () => tool.runCommand('add-edit', ['--payloads', payloads]),
      () => tool.checkEntityEvent(),
      () => tool.checkEventRecords(),
      () => tool.runCommand('core', ['--spec-version', '2.0.0']),
      ...(topIsTotal ? [() => tool.runCommand('core', ['--spec-version', '2.1.0'])] : []),
    ]
    for (const runTest of tests) {
      const result = await runTest()
      print(result)
      if (result.failed > 0 || result.problems.length > 0) process.exitCode = 1
    }
  } finally {
    await rm(payloads, { recursive: true, force: true })
  }
}

try {
  await run()
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`)
  process.exitCode = 1
}
