/** Serialized JSON, which is written to the response unchanged. */
export class RawJson {
  constructor(readonly text: string) {}

  /** Returns the parsed value, for code that does not know this class, such as logging plugins. */
  toJSON(): unknown {
    return JSON.parse(this.text)
  }
}

/** Renders an object from members whose values are serialized JSON. */
export const renderRawObject = (members: readonly (readonly [name: string, json: string])[]): string =>
  `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`

/** Renders a list of serialized JSON values. */
export const renderRawList = (items: readonly string[]): string => `[${items.join(',')}]`

/** Renders a result as JSON, with errors first, so that they are noticed. */
export function renderResult({
  errors,
  data,
}: {
  readonly errors?: readonly unknown[] | undefined
  readonly data?: unknown
}): string {
  const errorsMember = errors && `"errors":${JSON.stringify(errors)}`
  const text = data instanceof RawJson ? data.text : JSON.stringify(data)
  return `{${[errorsMember, text === undefined ? undefined : `"data":${text}`].filter(part => part !== undefined).join(',')}}`
}
