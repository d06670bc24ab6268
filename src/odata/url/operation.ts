import type { ResourcePath } from './resource-path.js'

/** Returns the name of a request in the log: its entity and form, or its resource: `Property count`, `metadata`. */
export function operationOf(path: ResourcePath): string {
  if ('entity' in path) return `${path.entity.name} ${path.kind === path.form ? path.kind : path.form}`
  return path.kind
}
