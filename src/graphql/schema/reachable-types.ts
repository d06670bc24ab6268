import type { FieldDefinition, TypeDefinition } from './sdl-text.js'

/** Returns the names of the types that fields and arguments lead to, beginning at the roots. */
export function reachableTypeNames(
  roots: readonly TypeDefinition[],
  definitions: readonly TypeDefinition[],
): ReadonlySet<string> {
  const byName = new Map(definitions.map(definition => [typeNameOf(definition), definition]))
  const names = new Set<string>()
  const visitFields = (fields: readonly FieldDefinition[]): void => {
    for (const { type, args = [] } of fields) {
      visit(type.replace(/[[\]!]/g, ''))
      visitFields(args)
    }
  }
  const visit = (name: string): void => {
    if (names.has(name)) return
    names.add(name)
    visitFields(byName.get(name)?.fields ?? [])
  }
  for (const root of roots) visit(typeNameOf(root))
  return names
}

/** Returns the name of a type: `type Property implements Node` → `Property`. */
export const typeNameOf = ({ head }: TypeDefinition): string => head.split(' ')[1] ?? ''
