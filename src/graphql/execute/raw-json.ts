/** JSON that is finished: it goes out as it is. */
export class RawJson {
  constructor(readonly text: string) {}

  /** For those who do not know of it, such as plugins that log. */
  toJSON(): unknown {
    return JSON.parse(this.text)
  }
}

/** An object of members whose values are JSON texts already. */
export const renderRawObject = (members: readonly (readonly [name: string, json: string])[]): string =>
  `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`

/** A list of values that are JSON texts already. */
export const renderRawList = (items: readonly string[]): string => `[${items.join(',')}]`

/** A result as JSON. Errors first, so that they are seen; the data as it is. */
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
