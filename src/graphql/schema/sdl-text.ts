/** What stands in a definition: a field, or an argument of one. */
export interface Member {
  readonly name: string
  readonly type: string
  readonly description?: string
  readonly deprecated?: string
  readonly args?: readonly Member[]
}

/** A type of the schema with members. */
export interface Definition {
  /** `type Property implements Node`. */
  readonly head: string
  readonly description: string
  readonly members: readonly Member[]
}

/** A description as a block string on one line (GraphQL specification, 2.9.4). */
export const describe = (text: string): string =>
  `"""${text.replaceAll('"""', '\\"""')}${/["\\]$/.test(text) ? ' ' : ''}"""`

/** A definition of the schema language, with a line break at its end. */
export const renderDefinition = ({ head, description, members }: Definition): string =>
  `${describe(description)}\n${head} {\n${members.map(m => renderMember(m, '  ')).join('')}}\n`

function renderMember({ name, type, description, deprecated, args = [] }: Member, indent: string): string {
  const described = description ? `${indent}${describe(description)}\n` : ''
  const reason = deprecated === undefined ? '' : ` @deprecated(reason: ${JSON.stringify(deprecated)})`
  return `${described}${indent}${name}${renderArguments(args, indent)}: ${type}${reason}\n`
}

/** On lines of their own where there is something to say about them. */
function renderArguments(args: readonly Member[], indent: string): string {
  if (args.length === 0) return ''
  const isPlain = args.every(a => a.description === undefined)
  return isPlain
    ? `(${args.map(a => `${a.name}: ${a.type}`).join(', ')})`
    : `(\n${args.map(a => renderMember(a, `${indent}  `)).join('')}${indent})`
}
