// Checks that every package of package-lock.json runs on all versions of Node that package.json promises
// (`engines.node`); npm prints EBADENGINE for the others. Where a package brings one that does not, `overrides`
// of package.json names a version that does. Prints the packages in question and how many were read; ends
// with 1 if there is one.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import semver from 'semver'

const root = resolve(import.meta.dirname, '..')
const readJson = name => JSON.parse(readFileSync(resolve(root, name), 'utf8'))

const promised = readJson('package.json').engines.node
const packages = Object.entries(readJson('package-lock.json').packages)

const unsupported = packages.filter(
  ([, { engines }]) => engines?.node && !semver.subset(promised, engines.node),
)
for (const [path, { version, engines }] of unsupported)
  console.log(`${path} ${version} needs Node ${engines.node}; package.json promises ${promised}`)
console.log(`${packages.length} packages`)
process.exitCode = unsupported.length === 0 ? 0 : 1
