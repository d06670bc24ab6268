/** A field, or an argument of a field. */
export interface FieldDefinition {
  readonly name: string
  readonly type: string
  readonly description?: string
  readonly deprecated?: string
  readonly args?: readonly FieldDefinition[]
}

/** A type with fields. */
export interface TypeDefinition {
  /** For example `type Property implements Node`. */
  readonly head: string
  readonly description: string
  readonly fields: readonly FieldDefinition[]
}

/** Renders a description as a block string on one line (GraphQL specification, 2.9.4). */
export const renderDescription = (text: string): string =>
  `"""${text.replaceAll('"""', '\\"""')}${/["\\]$/.test(text) ? ' ' : ''}"""`

/** Renders a definition in the schema definition language, with a line break at its end. */
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

/** Arguments are on separate lines if they have descriptions. */
function renderArguments(args: readonly FieldDefinition[], indent: string): string {
  if (args.length === 0) return ''
  const isUndescribed = args.every(a => a.description === undefined)
  return isUndescribed
    ? `(${args.map(a => `${a.name}: ${a.type}`).join(', ')})`
    : `(\n${args.map(a => renderFieldDefinition(a, `${indent}  `)).join('')}${indent})`
}
