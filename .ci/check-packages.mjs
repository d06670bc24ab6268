// Checks the packages of package-lock.json: those that run in production have a known license, each comes from the
// registry of npm with its checksum, and package.json decides on each script that runs at installation. Prints the faults
// and the number of packages. Ends with 1 after a fault.
// usage: node .ci/check-packages.mjs [FOLDER]
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** Where packages come from that have no `resolved`. */
const REGISTRY = 'https://registry.npmjs.org/'
/** Licences that allow use in a private program. */
const LICENSES = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'Python-2.0',
  'Unlicense',
]
/** Packages whose license was read by hand. */
const READ_LICENSES = {
  // The Eclipse license concerns changes to elkjs itself. Prisma Studio draws with it.
  elkjs: 'EPL-2.0',
  // The package has no field `license`. Its file LICENSE is that of MIT.
  'seq-queue': undefined,
}

const root = resolve(process.argv[2] ?? resolve(import.meta.dirname, '..'))
const readJson = name => JSON.parse(readFileSync(resolve(root, name), 'utf8'))

const { allowScripts = {} } = readJson('package.json')
const packages = Object.entries(readJson('package-lock.json').packages).filter(([path]) => path !== '')

const nameOf = path => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

/** Each part of `(MIT OR Apache-2.0)` and of `MIT and ISC` is checked. */
const isAllowed = license =>
  license
    ?.replace(/[()]/g, '')
    .split(/ (?:and|or) /i)
    .every(part => LICENSES.includes(part))

function faultsOf([path, { license, dev, integrity, resolved, hasInstallScript }]) {
  const name = nameOf(path)
  const isRead = Object.hasOwn(READ_LICENSES, name) && READ_LICENSES[name] === license
  return [
    ...(dev || isRead || isAllowed(license) ? [] : [`has the license ${license || '(none)'}`]),
    ...((resolved ?? REGISTRY).startsWith(REGISTRY) && integrity
      ? []
      : ['does not come from the registry with a checksum']),
    ...(hasInstallScript && !Object.hasOwn(allowScripts, name)
      ? ['runs a script at installation; name it in allowScripts of package.json']
      : []),
  ].map(fault => `${path} ${fault}`)
}

const faults = packages.flatMap(faultsOf)
for (const fault of faults) console.log(fault)
console.log(`${packages.length} packages`)
process.exitCode = faults.length === 0 ? 0 : 1
