/** A field, or an argument of a field. */
export interface FieldDefinition {
  readonly name: string
  readonly type: string
  readonly description: string
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
  const deprecation = deprecated === undefined ? '' : ` @deprecated(reason: ${JSON.stringify(deprecated)})`
  return `${indent}${renderDescription(description)}\n${indent}${name}${renderArguments(args, indent)}: ${type}${deprecation}\n`
}

/** Renders each argument on a line of its own. */
const renderArguments = (args: readonly FieldDefinition[], indent: string): string =>
  args.length === 0
    ? ''
    : `(\n${args.map(argument => renderFieldDefinition(argument, `${indent}  `)).join('')}${indent})`
