import type { EdmType, ReadAccess } from '../src/model/model.js'

/** The tags of a `///` comment in schema.prisma. Tags are facts about a field or entity. */
export interface ModelTags {
  /** Entity: clients may create, change and delete records. */
  readonly writable?: true
  /** Entity: records are created and deleted, and never changed. */
  readonly immutable?: true
  /** Entity: name of the entity type, if it differs from the name of the set. */
  readonly type?: string
  /** Entity: a second path of the entity set. */
  readonly alias?: string
  /** Entity: its table or view, if that is not the table with its name in the default schema. */
  readonly table?: { readonly schema: string; readonly name: string }
  /** Maximum number of characters. */
  readonly length?: number
  /** Maximum number of digits, and of those after the decimal point. */
  readonly digits?: { readonly precision: number; readonly scale: number }
  readonly lookup?: { readonly name: string; readonly policy: 'open' | 'locked' }
  /** The service sets the field. A value from a client is ignored. */
  readonly service?: true
  /** A client must provide the field on create. */
  readonly required?: true
  readonly readable?: ReadAccess
  /** A type that Prisma does not have. */
  readonly edm?: EdmType
  /** Part of the property's address: hidden from the public if the seller wishes so. */
  readonly address?: true
  /** The database computes the column. */
  readonly generated?: true
  /** For internal use. */
  readonly hidden?: true
  /** The reason to stop using the field, and its replacement. */
  readonly deprecated?: string
}

/** A navigation without a foreign key, and so without a Prisma relation. */
export interface FreeReference {
  readonly name: string
  readonly target: string
  readonly local: string
  readonly text: string
}

const READ_ACCESS: readonly ReadAccess[] = ['member', 'disclosed', 'own', 'nobody']

type TagReader = (args: readonly string[]) => ModelTags | undefined
const flagTag =
  (tag: ModelTags): TagReader =>
  args =>
    args.length === 0 ? tag : undefined
const singleArgumentTag =
  (read: (arg: string) => ModelTags | undefined): TagReader =>
  ([arg, ...rest]) =>
    arg !== undefined && rest.length === 0 ? read(arg) : undefined
const integer = (text: string | undefined) =>
  text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined

/** All tags. An unknown tag stops the build. */
const TAGS: Readonly<Record<string, TagReader>> = {
  writable: flagTag({ writable: true }),
  immutable: flagTag({ immutable: true }),
  service: flagTag({ service: true }),
  required: flagTag({ required: true }),
  address: flagTag({ address: true }),
  generated: flagTag({ generated: true }),
  hidden: flagTag({ hidden: true }),
  type: singleArgumentTag(type => ({ type })),
  alias: singleArgumentTag(alias => ({ alias })),
  table: ([schema, name, ...rest]) =>
    schema !== undefined && name !== undefined && rest.length === 0 ? { table: { schema, name } } : undefined,
  length: singleArgumentTag(text => {
    const length = integer(text)
    return length === undefined ? undefined : { length }
  }),
  digits: ([first, second, ...rest]) => {
    const [precision, scale] = [integer(first), integer(second)]
    return precision === undefined || scale === undefined || rest.length > 0
      ? undefined
      : { digits: { precision, scale } }
  },
  lookup: ([name, policy, ...rest]) =>
    name !== undefined && (policy === 'open' || policy === 'locked') && rest.length === 0
      ? { lookup: { name, policy } }
      : undefined,
  readable: singleArgumentTag(text => {
    const readable = READ_ACCESS.find(r => r === text)
    return readable && { readable }
  }),
  // The reason is prose, so commas do not separate arguments.
  deprecated: args => (args.join('') === '' ? undefined : { deprecated: args.join(', ') }),
  edm: singleArgumentTag(text => (text === 'GeographyPoint' ? { edm: text } : undefined)),
}

const TAG = /^@(\w+)(?:\(([^)]*)\))?\s*(.*)$/

/**
 * Parses the `///` lines of a model or field. Throws for an unknown or malformed tag, with the owner's name.
 */
export function readTags(
  owner: string,
  documentation = '',
): { tags: ModelTags; description: string; references: readonly FreeReference[] } {
  let tags: ModelTags = {}
  const prose: string[] = []
  const references: FreeReference[] = []
  for (const line of documentation.split('\n')) {
    const [, name, list, text = ''] = TAG.exec(line) ?? []
    const args = list?.split(',').map(a => a.trim()) ?? []
    if (name === undefined) prose.push(line)
    else if (name === 'reference') references.push(toReference(owner, args, text))
    else tags = { ...tags, ...readTag(owner, name, args, text) }
  }
  return { tags, description: prose.join(' ').trim(), references }
}

function readTag(owner: string, name: string, args: readonly string[], text: string): ModelTags {
  const read = Object.hasOwn(TAGS, name) ? TAGS[name] : undefined
  if (!read)
    throw new Error(
      `${owner}: unknown tag @${name}; expected one of @reference, @${Object.keys(TAGS).join(', @')}`,
    )
  const tag = text === '' ? read(args) : undefined
  if (!tag) throw new Error(`${owner}: @${name} does not take (${args.join(', ')}) ${text}`.trimEnd())
  return tag
}

function toReference(owner: string, args: readonly string[], text: string): FreeReference {
  const [name, target, local, ...rest] = args
  if (name === undefined || target === undefined || local === undefined || rest.length > 0)
    throw new Error(`${owner}: @reference takes (name, target, field)`)
  return { name, target, local, text }
}
