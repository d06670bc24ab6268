import type { IncomingMessage } from 'node:http'

/** All values of a header (name in lower case). For some headers Node keeps only the first one in `headers`. */
export function rawHeaderValues({ rawHeaders }: IncomingMessage, name: string): readonly string[] {
  const values: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (equalsIgnoringCase(rawHeaders[i], name)) values.push(rawHeaders[i + 1] ?? '')
  return values
}

/** Compares the lengths first: most names of a request differ in them, and need no copy in lower case. */
const equalsIgnoringCase = (text = '', lowerCase: string): boolean =>
  text.length === lowerCase.length && text.toLowerCase() === lowerCase
