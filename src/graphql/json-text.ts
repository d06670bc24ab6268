/** JSON that is finished: it goes out as it is. */
export class JsonText {
  constructor(readonly text: string) {}

  /** For those who do not know of it, such as plugins that log. */
  toJSON(): unknown {
    return JSON.parse(this.text)
  }
}

/** An object of members whose values are JSON texts already. */
export const renderObject = (members: readonly (readonly [name: string, json: string])[]): string =>
  `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`

export const renderList = (items: readonly string[]): string => `[${items.join(',')}]`
