import { createReadStream } from 'node:fs'
import { getManyValues, isMany, none } from 'stream-chain/defs.js'
import { jsonParser, type Token } from 'stream-json/parser.js'
import { JsonNumber } from '../../domain/json.js'

export type ImportJsonObject = ReadonlyMap<string, ImportJsonValue>
export type ImportJsonValue =
  | string
  | boolean
  | null
  | JsonNumber
  | ImportJsonObject
  | readonly ImportJsonValue[]

/** What a file holds at its top level: an item of a wanted array, or a member that was passed over. */
export type TopLevelEntry =
  | {
      readonly kind: 'item'
      readonly member: string
      readonly index: number
      readonly value: ImportJsonValue
    }
  | { readonly kind: 'skipped'; readonly member: string; readonly isArray: boolean }

/** The file is no JSON object. */
export class JsonFileError extends Error {}

type JsonContainer =
  | { readonly list: ImportJsonValue[] }
  | { readonly map: Map<string, ImportJsonValue>; key: string }

function toScalarValue(token: Token): ImportJsonValue | undefined {
  switch (token.name) {
    case 'stringValue':
    case 'nullValue':
    case 'trueValue':
    case 'falseValue':
      return token.value
    case 'numberValue':
      return new JsonNumber(token.value)
    default:
      return undefined
  }
}

/** Builds one value out of tokens. */
class JsonValueBuilder {
  readonly #containers: JsonContainer[] = []

  /** The value, once its last token came. */
  push(token: Token): ImportJsonValue | undefined {
    if (token.name === 'startObject') this.#containers.push({ map: new Map(), key: '' })
    else if (token.name === 'startArray') this.#containers.push({ list: [] })
    else if (token.name === 'keyValue') this.#setKey(token.value)
    else if (token.name === 'endObject' || token.name === 'endArray') return this.#closeContainer()
    else return this.#add(toScalarValue(token))
    return undefined
  }

  #setKey(key: string): void {
    const container = this.#containers.at(-1)
    if (container && 'map' in container) container.key = key
  }

  #closeContainer(): ImportJsonValue | undefined {
    const container = this.#containers.pop()
    return container && this.#add('map' in container ? container.map : container.list)
  }

  #add(value: ImportJsonValue | undefined): ImportJsonValue | undefined {
    const container = this.#containers.at(-1)
    if (value === undefined || !container) return value
    if ('map' in container) container.map.set(container.key, value)
    else container.list.push(value)
    return undefined
  }
}

/** How much deeper a token leads. */
const DEPTH_CHANGES: Readonly<Partial<Record<Token['name'], number>>> = {
  startObject: 1,
  startArray: 1,
  endObject: -1,
  endArray: -1,
}

/** Cuts the tokens of a file into its members, and the wanted arrays into their items. */
class TopLevelReader {
  readonly #isWanted: (member: string) => boolean
  #depth = 0
  #member = ''
  #index = 0
  /** The tokens of this array are items; otherwise the value is passed over. */
  #isInWantedArray = false
  readonly #builder = new JsonValueBuilder()

  constructor(isWanted: (member: string) => boolean) {
    this.#isWanted = isWanted
  }

  push(token: Token): TopLevelEntry | undefined {
    const depth = this.#depth
    this.#depth += DEPTH_CHANGES[token.name] ?? 0
    if (depth === 0) return this.#startDocument(token)
    if (depth === 1) return this.#startMember(token)
    if (!this.#isInWantedArray || (depth === 2 && token.name === 'endArray')) return undefined
    const value = this.#builder.push(token)
    return value === undefined
      ? undefined
      : { kind: 'item', member: this.#member, index: this.#index++, value }
  }

  #startDocument(token: Token): undefined {
    if (token.name !== 'startObject') throw new JsonFileError('the file is no JSON object')
  }

  #startMember(token: Token): TopLevelEntry | undefined {
    if (token.name === 'keyValue') this.#member = token.value
    if (token.name === 'keyValue' || token.name === 'endObject') return undefined
    this.#isInWantedArray = token.name === 'startArray' && this.#isWanted(this.#member)
    this.#index = 0
    return this.#isInWantedArray
      ? undefined
      : { kind: 'skipped', member: this.#member, isArray: token.name === 'startArray' }
  }

  get isComplete(): boolean {
    return this.#depth === 0
  }
}

/** Half a megabyte at a time: the tokens of one piece are the most that is held beside the item at work. */
const CHUNK_BYTES = 2 ** 19

/**
 * Reads a JSON file of any size piece by piece and yields the items of the wanted top-level arrays, in the
 * order of the file; memory is bounded by the largest item. `onBytes` hears how many bytes of the file are
 * read.
 * @throws JsonFileError if it is no JSON object.
 */
export async function* readArrayItems(
  path: string,
  isWanted: (member: string) => boolean,
  onBytes: (bytes: number) => void,
): AsyncGenerator<TopLevelEntry> {
  const parse = createTokenizer()
  const reader = new TopLevelReader(isWanted)
  let hasStarted = false
  const stream = createReadStream(path, { encoding: 'utf8', highWaterMark: CHUNK_BYTES })
  for await (const chunk of stream) {
    // An encoding was asked for, so pieces are text.
    const text = chunk as string
    for (const token of parse(hasStarted ? text : text.replace(/^\uFEFF/, ''))) {
      const entry = reader.push(token)
      if (entry) yield entry
    }
    hasStarted = true
    onBytes(stream.bytesRead)
  }
  // A number at the very end is known only now.
  for (const token of parse(none)) reader.push(token)
  if (!hasStarted || !reader.isComplete) throw new JsonFileError('the JSON ends too early')
}

/**
 * The parser without the streams around it, which cost as much as the parsing; its faults are those of the
 * file.
 */
function createTokenizer(): (chunk: string | typeof none) => readonly Token[] {
  const parse = jsonParser({ packValues: true, streamValues: false })
  return chunk => {
    try {
      // The parser is typed for pipelines, which may hand it anything: it takes text, and `none` at the end.
      const tokens: unknown = (parse as (input: unknown) => unknown)(chunk)
      // It answers with many tokens or with none.
      return isMany(tokens) ? (getManyValues(tokens) as readonly Token[]) : []
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new JsonFileError(`the file is no JSON: ${reason.replace(/^Parser cannot parse input: /, '')}`)
    }
  }
}
