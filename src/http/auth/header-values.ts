import type { IncomingMessage } from 'node:http'

/**
 * Returns all values of a header. `name` is in lower case. Node's `headers` has only the first value of some
 * headers.
 */
export function rawHeaderValues({ rawHeaders }: IncomingMessage, name: string): readonly string[] {
  const values: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (equalsIgnoringCase(rawHeaders[i], name)) values.push(rawHeaders[i + 1] ?? '')
  return values
}

/** Compares lengths first. Most header names differ in length and are then not converted to lower case. */
const equalsIgnoringCase = (text = '', lowerCase: string): boolean =>
  text.length === lowerCase.length && text.toLowerCase() === lowerCase
