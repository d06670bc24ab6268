import { createReadStream } from 'node:fs'
import { getManyValues, isMany, none } from 'stream-chain/defs.js'
import { jsonParser, type Token } from 'stream-json/parser.js'
import { JsonNumber } from '../../domain/json.js'

export type JsonObject = ReadonlyMap<string, Json>
export type Json = string | boolean | null | JsonNumber | JsonObject | readonly Json[]

/** What a file holds at its top level: an item of a wanted array, or a member that was passed over. */
export type Found =
  | { readonly kind: 'item'; readonly member: string; readonly index: number; readonly value: Json }
  | { readonly kind: 'skipped'; readonly member: string; readonly isArray: boolean }

/** The file is no JSON object. */
export class JsonFileError extends Error {}

type Frame = { readonly list: Json[] } | { readonly map: Map<string, Json>; key: string }

function toScalar(token: Token): Json | undefined {
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
class ValueBuilder {
  readonly #frames: Frame[] = []

  /** The value, once its last token came. */
  take(token: Token): Json | undefined {
    if (token.name === 'startObject') this.#frames.push({ map: new Map(), key: '' })
    else if (token.name === 'startArray') this.#frames.push({ list: [] })
    else if (token.name === 'keyValue') this.#setKey(token.value)
    else if (token.name === 'endObject' || token.name === 'endArray') return this.#close()
    else return this.#add(toScalar(token))
    return undefined
  }

  #setKey(key: string): void {
    const frame = this.#frames.at(-1)
    if (frame && 'map' in frame) frame.key = key
  }

  #close(): Json | undefined {
    const frame = this.#frames.pop()
    return frame && this.#add('map' in frame ? frame.map : frame.list)
  }

  #add(value: Json | undefined): Json | undefined {
    const frame = this.#frames.at(-1)
    if (value === undefined || !frame) return value
    if ('map' in frame) frame.map.set(frame.key, value)
    else frame.list.push(value)
    return undefined
  }
}

/** How much deeper a token leads. */
const STEPS: Readonly<Partial<Record<Token['name'], number>>> = {
  startObject: 1,
  startArray: 1,
  endObject: -1,
  endArray: -1,
}

/** Cuts the tokens of a file into its members, and the wanted arrays into their items. */
class MemberReader {
  readonly #wanted: (member: string) => boolean
  #depth = 0
  #member = ''
  #index = 0
  /** The tokens of this array are items; otherwise the value is passed over. */
  #inWanted = false
  readonly #builder = new ValueBuilder()

  constructor(wanted: (member: string) => boolean) {
    this.#wanted = wanted
  }

  take(token: Token): Found | undefined {
    const depth = this.#depth
    this.#depth += STEPS[token.name] ?? 0
    if (depth === 0) return this.#begin(token)
    if (depth === 1) return this.#enter(token)
    if (!this.#inWanted || (depth === 2 && token.name === 'endArray')) return undefined
    const value = this.#builder.take(token)
    return value === undefined
      ? undefined
      : { kind: 'item', member: this.#member, index: this.#index++, value }
  }

  #begin(token: Token): undefined {
    if (token.name !== 'startObject') throw new JsonFileError('the file is no JSON object')
  }

  #enter(token: Token): Found | undefined {
    if (token.name === 'keyValue') this.#member = token.value
    if (token.name === 'keyValue' || token.name === 'endObject') return undefined
    this.#inWanted = token.name === 'startArray' && this.#wanted(this.#member)
    this.#index = 0
    return this.#inWanted
      ? undefined
      : { kind: 'skipped', member: this.#member, isArray: token.name === 'startArray' }
  }

  get ended(): boolean {
    return this.#depth === 0
  }
}

/** Half a megabyte at a time: the tokens of one piece are the most that is held beside the item at work. */
const PIECE = 2 ** 19

/**
 * Reads a JSON file of any size piece by piece and yields the items of the wanted top-level arrays, in the
 * order of the file; memory is bounded by the largest item. `onBytes` hears how many bytes of the file are
 * read.
 * @throws JsonFileError if it is no JSON object.
 */
export async function* readMembers(
  path: string,
  wanted: (member: string) => boolean,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Found> {
  const parse = toTokenizer()
  const reader = new MemberReader(wanted)
  let begun = false
  const stream = createReadStream(path, { encoding: 'utf8', highWaterMark: PIECE })
  for await (const piece of stream) {
    // An encoding was asked for, so pieces are text.
    const text = piece as string
    for (const token of parse(begun ? text : text.replace(/^\uFEFF/, ''))) {
      const found = reader.take(token)
      if (found) yield found
    }
    begun = true
    onBytes(stream.bytesRead)
  }
  // A number at the very end is known only now.
  for (const token of parse(none)) reader.take(token)
  if (!begun || !reader.ended) throw new JsonFileError('the JSON ends too early')
}

/**
 * The parser without the streams around it, which cost as much as the parsing; its faults are those of the
 * file.
 */
function toTokenizer(): (piece: string | typeof none) => readonly Token[] {
  const parse = jsonParser({ packValues: true, streamValues: false })
  return piece => {
    try {
      // The parser is typed for pipelines, which may hand it anything: it takes text, and `none` at the end.
      const tokens: unknown = (parse as (input: unknown) => unknown)(piece)
      // It answers with many tokens or with none.
      return isMany(tokens) ? (getManyValues(tokens) as readonly Token[]) : []
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new JsonFileError(`the file is no JSON: ${reason.replace(/^Parser cannot parse input: /, '')}`)
    }
  }
}
