// Checks that no interface, type alias, class or enum of src/ is declared in two files. Prints the duplicates
// and the number of files. Ends with 1 after a violation.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import ts from 'typescript'

const root = resolve(import.meta.dirname, '..')

const files = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
  .map(entry => join(entry.parentPath, entry.name))
  .filter(path => !path.startsWith(join(root, 'src/data/prisma/client')))

const isTypeDeclaration = node =>
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isClassDeclaration(node) ||
  ts.isEnumDeclaration(node)

/** Locations of declarations by name, as `path:line`. */
const declarations = new Map()
for (const path of files) {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest)
  for (const node of source.statements.filter(isTypeDeclaration)) {
    const name = node.name?.text ?? 'default'
    const line = source.getLineAndCharacterOfPosition(node.name?.pos ?? node.pos).line + 1
    declarations.set(name, [...(declarations.get(name) ?? []), `${relative(root, path)}:${line}`])
  }
}

const duplicates = [...declarations].filter(([, places]) => places.length > 1)
for (const [name, places] of duplicates)
  console.log(`${name} is declared more than once: ${places.join(', ')}`)
console.log(`${files.length} files`)
process.exitCode = duplicates.length === 0 ? 0 : 1
