// Checks that every package of package-lock.json supports all versions of Node in `engines.node` of
// package.json. Otherwise npm would print EBADENGINE. If a dependency requires a package that does not,
// `overrides` in package.json selects a version that does. Prints the violations and the number of packages.
// Ends with 1 after a violation.
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
