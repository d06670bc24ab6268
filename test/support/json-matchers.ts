/** A JSON value in tests. */
export type Json =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly Json[]
  | { readonly [name: string]: Json }

type Matcher = (wanted: Json, found: Json, path: string) => readonly string[]

const mismatch = (holds: boolean, path: string, text: string): readonly string[] =>
  holds ? [] : [`${path}: ${text}`]
const show = (value: Json) => JSON.stringify(value)?.slice(0, 200)
const isObject = (value: Json): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isList = (value: Json): value is readonly Json[] => Array.isArray(value)

/** Matchers in the expectation of a case. */
const MATCHERS: Readonly<Record<string, Matcher>> = {
  $number: (wanted, found, path) =>
    mismatch(
      typeof found === 'number' && Number(wanted) === found,
      path,
      `${show(found)} is not the number ${wanted}`,
    ),
  $numberString: (wanted, found, path) =>
    mismatch(
      typeof found === 'string' && Number(wanted) === Number(found),
      path,
      `${show(found)} is not the text of ${wanted}`,
    ),
  $instant: (wanted, found, path) =>
    mismatch(
      typeof found === 'string' && Date.parse(found) === Date.parse(String(wanted)),
      path,
      `${show(found)} is not the instant ${wanted}`,
    ),
  $matches: (wanted, found, path) =>
    mismatch(
      typeof found === 'string' && found.includes(String(wanted)),
      path,
      `${show(found)} does not contain ${wanted}`,
    ),
  $ge: (wanted, found, path) =>
    mismatch(Number(found) >= Number(wanted), path, `${show(found)} is less than ${wanted}`),
  $contains: (wanted, found, path) =>
    mismatch(
      isList(found) && found.some(item => matches(wanted, item)),
      path,
      `no item is like ${show(wanted)}`,
    ),
  $set: (wanted, found, path) =>
    mismatch(
      isList(wanted) && isList(found) && isPermutation(wanted, found),
      path,
      `${show(found)} is not the set ${show(wanted)}`,
    ),
}

/**
 * Describes the difference of a value from the expected one. Of objects, only expected members are compared.
 */
export function differences(wanted: Json, found: Json, path = ''): readonly string[] {
  if (isList(wanted)) {
    if (!isList(found) || found.length !== wanted.length)
      return [`${path}: ${show(found)} has not ${wanted.length} items`]
    return wanted.flatMap((item, i) => differences(item, found[i], `${path}/${i}`))
  }
  if (!isObject(wanted)) return mismatch(wanted === found, path, `${show(found)} is not ${show(wanted)}`)
  const [[name, value] = ['', null]] = Object.entries(wanted)
  const matcher = MATCHERS[name]
  if (matcher) return matcher(value, found, path)
  return isObject(found)
    ? Object.entries(wanted).flatMap(([key, item]) => differences(item, found[key], `${path}/${key}`))
    : [`${path}: ${show(found)} is no object`]
}

const matches = (wanted: Json, found: Json): boolean => differences(wanted, found).length === 0

function isPermutation(wanted: readonly Json[], found: readonly Json[]): boolean {
  const rest = [...found]
  for (const item of wanted) {
    const at = rest.findIndex(other => matches(item, other))
    if (at < 0) return false
    rest.splice(at, 1)
  }
  return rest.length === 0
}
