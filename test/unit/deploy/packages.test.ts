import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

interface LockedPackage {
  readonly license?: string
  readonly dev?: boolean
  readonly integrity?: string
  readonly resolved?: string
  readonly hasInstallScript?: boolean
}

/** Runs the check on a lock file. Returns what it prints, and its exit code. */
function check(packages: Readonly<Record<string, LockedPackage>>) {
  const folder = mkdtempSync(join(tmpdir(), 'listing-packages-'))
  const locked = Object.entries(packages).map(([name, values]) => [
    `node_modules/${name}`,
    { integrity: 'sha512-x', license: 'MIT', ...values },
  ])
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ allowScripts: { known: false } }))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages: Object.fromEntries(locked) }))
  const program = ['.ci/check-packages.mjs', folder]
  const { status, stdout } = spawnSync(process.execPath, program, { encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  return { status, lines: stdout.trim().split('\n') }
}

test('PKG-14 an unknown license, a package from elsewhere and a new script are faults', () => {
  const faulty = check({
    gpl: { license: 'GPL-3.0' },
    both: { license: '(MIT AND GPL-2.0)' },
    other: { license: 'SEE LICENSE IN LICENSE' },
    none: { license: '' },
    elsewhere: { resolved: 'git+ssh://git@github.com/a/a.git' },
    unchecked: { integrity: '' },
    script: { hasInstallScript: true },
  })
  expect(faulty).toEqual({
    status: 1,
    lines: [
      'node_modules/gpl has the license GPL-3.0',
      'node_modules/both has the license (MIT AND GPL-2.0)',
      'node_modules/other has the license SEE LICENSE IN LICENSE',
      'node_modules/none has the license (none)',
      'node_modules/elsewhere does not come from the registry with a checksum',
      'node_modules/unchecked does not come from the registry with a checksum',
      'node_modules/script runs a script at installation; name it in allowScripts of package.json',
      '7 packages',
    ],
  })
}, 60_000)

test('PKG-14 known licenses, development packages and decided scripts are no faults', () => {
  const right = check({
    mit: {},
    either: { license: '(MIT OR Apache-2.0)' },
    and: { license: 'MIT and ISC' },
    tool: { license: 'GPL-3.0', dev: true },
    known: { hasInstallScript: true },
  })
  expect(right).toEqual({ status: 0, lines: ['5 packages'] })
}, 60_000)
