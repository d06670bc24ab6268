/** What stands in a definition: a field, or an argument of one. */
export interface FieldDefinition {
  readonly name: string
  readonly type: string
  readonly description?: string
  readonly deprecated?: string
  readonly args?: readonly FieldDefinition[]
}

/** A type of the schema with members. */
export interface TypeDefinition {
  /** `type Property implements Node`. */
  readonly head: string
  readonly description: string
  readonly fields: readonly FieldDefinition[]
}

/** A description as a block string on one line (GraphQL specification, 2.9.4). */
export const renderDescription = (text: string): string =>
  `"""${text.replaceAll('"""', '\\"""')}${/["\\]$/.test(text) ? ' ' : ''}"""`

/** A definition of the schema language, with a line break at its end. */
export const renderTypeDefinition = ({ head, description, fields }: TypeDefinition): string =>
  `${renderDescription(description)}\n${head} {\n${fields.map(m => renderFieldDefinition(m, '  ')).join('')}}\n`

function renderFieldDefinition(
  { name, type, description, deprecated, args = [] }: FieldDefinition,
  indent: string,
): string {
  const descriptionText = description ? `${indent}${renderDescription(description)}\n` : ''
  const deprecation = deprecated === undefined ? '' : ` @deprecated(reason: ${JSON.stringify(deprecated)})`
  return `${descriptionText}${indent}${name}${renderArguments(args, indent)}: ${type}${deprecation}\n`
}

/** On lines of their own where there is something to say about them. */
function renderArguments(args: readonly FieldDefinition[], indent: string): string {
  if (args.length === 0) return ''
  const isUndescribed = args.every(a => a.description === undefined)
  return isUndescribed
    ? `(${args.map(a => `${a.name}: ${a.type}`).join(', ')})`
    : `(\n${args.map(a => renderFieldDefinition(a, `${indent}  `)).join('')}${indent})`
}
