// npm run check: runs the static checks. Every step runs, even after a failure. A step that read no files
// fails, because an empty pattern would otherwise always pass.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'
import '../src/typescript.mjs'

// TypeScript can be imported only after this point.
const { parseCommandLine } = await import('../src/cli/command.ts')
parseCommandLine('usage: npm run check', {})

const home = resolve(import.meta.dirname, '..')
const MODEL = resolve(home, 'src/model/generated.ts')
const env = {
  ...process.env,
  PATH: `${resolve(home, 'node_modules/.bin')}${delimiter}${process.env.PATH ?? ''}`,
  NO_COLOR: '1',
  CI: '1',
}

/** Reads the number of files from a program's output. */
const numberIn = pattern => text => Number(pattern.exec(text)?.[1] ?? 0)
const countOwn = text =>
  text.split('\n').filter(line => line.startsWith(home) && !line.includes('/node_modules/')).length
const readModel = () => readFileSync(MODEL, 'utf8')

/**
 * `count` returns the number of files that the command read (generate: the number of entities it wrote).
 * `compare` returns a text that the command must not change. `show` selects the output lines of a failure.
 */
const STEPS = [
  {
    name: 'generate',
    command: ['node', 'prisma/generate.mjs', '--force'],
    count: () => readModel().split('"typeName": ').length - 1,
    compare: readModel,
  },
  { name: 'format', command: ['biome', 'format', '.'], count: numberIn(/Checked (\d+) files/) },
  {
    name: 'lint',
    command: [
      'biome',
      'check',
      '--formatter-enabled=false',
      '--error-on-warnings',
      '--max-diagnostics=200',
      '.',
    ],
    count: numberIn(/Checked (\d+) files/),
  },
  { name: 'types', command: ['tsc', '--listFiles'], count: countOwn, show: line => !line.startsWith('/') },
  {
    name: 'import rules',
    command: ['depcruise', '--output-type', 'err-long', 'src', 'prisma', 'test'],
    count: numberIn(/(\d+) modules/),
  },
  { name: 'engines', command: ['node', '.ci/check-engines.mjs'], count: numberIn(/(\d+) packages/) },
  { name: 'packages', command: ['node', '.ci/check-packages.mjs'], count: numberIn(/(\d+) packages/) },
  { name: 'names', command: ['node', '.ci/check-names.mjs'], count: numberIn(/(\d+) files/) },
  { name: 'wording', command: ['node', '.ci/check-wording.mjs'], count: numberIn(/(\d+) files/) },
  { name: 'docs', command: ['node', '.ci/check-docs.mjs'], count: numberIn(/(\d+) pages/) },
  {
    name: 'dead code',
    command: ['knip', '--no-progress', '--performance-fn', 'parseFile'],
    count: numberIn(/parseFile\s+(\d+)/),
  },
]

function run({ name, command, count, compare, show = () => true }) {
  const before = compare?.()
  const started = Date.now()
  const [program, ...args] = command
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: home,
    env,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    shell: process.platform === 'win32',
  })
  const output = `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`
  const files = count(output)
  const faults = [
    ...(status === 0
      ? []
      : [output.split('\n').filter(show).join('\n').trim() || `${program} ended with ${status}`]),
    ...(files > 0 ? [] : ['It read no files.']),
    ...(before === compare?.()
      ? []
      : [
          'The generated file was out of date. It has been regenerated: review the difference and commit it.',
        ]),
  ]
  console.log(
    `${faults.length === 0 ? 'ok    ' : 'FAILED'} ${name.padEnd(13)} ${String(files).padStart(4)} files ${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s`,
  )
  for (const fault of faults) console.log(fault.replace(/^/gm, '       '))
  return faults.length === 0
}

const passed = STEPS.map(run).filter(Boolean).length
console.log(`check: ${passed} passed, ${STEPS.length - passed} failed`)
process.exitCode = passed === STEPS.length ? 0 : 1
