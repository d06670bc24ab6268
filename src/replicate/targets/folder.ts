import { once } from 'node:events'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import { failTarget } from '../failure.js'
import { type ComparedRange, isInRange } from '../key-range.js'
import type { SourceSet } from '../source-model.js'
import type { ReplicaState } from '../state.js'
import type { KeySelection, ReplicaTarget, SetChange } from '../target.js'
import { lockFolder } from './folder-lock.js'

const STATE_FILE = 'state.json'
/** The next state, before it replaces the current one. */
const NEW_STATE_FILE = `${STATE_FILE}.new`
/** Name of a file of lines of a first copy. */
const FIRST_FILE = /^[A-Za-z]+\.1\.0\.ndjson$/
/**
 * Minimum number of old lines for a rewrite. A file is rewritten when it has more old lines than valid ones.
 */
const MIN_OLD_LINES = 1000

const ALL_KEYS: ComparedRange = { from: '', to: null }

/** A file of lines. Only its first `bytes` bytes are valid. */
interface DataFile {
  readonly name: string
  readonly bytes: number
}

interface FolderState {
  readonly state: ReplicaState
  /** Files of the current copy, by set. */
  readonly files: Readonly<Record<string, DataFile>>
  /** Files of a full copy in progress. */
  readonly next: Readonly<Record<string, DataFile>> | undefined
}

/** Position and length of a line in bytes. */
interface LinePlace {
  readonly at: number
  readonly length: number
}

/** An open file, and the position of the valid line of each key. */
class SetFile {
  readonly places = new Map<string, LinePlace>()
  lines = 0

  private constructor(
    readonly name: string,
    readonly handle: FileHandle,
    public bytes: number,
  ) {}

  /** Opens a file and truncates it after the valid bytes. */
  static async open(folder: string, { name, bytes }: DataFile, key: string): Promise<SetFile> {
    const path = join(folder, name)
    const handle = await open(path, existsSync(path) ? 'r+' : 'w+')
    if ((await handle.stat()).size < bytes)
      failTarget(`${path} is shorter than ${STATE_FILE} says. Delete the folder for a new copy.`)
    await handle.truncate(bytes)
    const file = new SetFile(name, handle, 0)
    const input = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })
    for await (const line of input) if (line !== '') file.#index(line, key)
    return file
  }

  #index(line: string, key: string): void {
    const record = JSON.parse(line) as Readonly<Record<string, unknown>> // a line of ours
    const length = Buffer.byteLength(line)
    const removed = record['@removed']
    if (removed !== undefined) this.places.delete(String(removed))
    else this.places.set(String(record[key]), { at: this.bytes, length })
    this.bytes += length + 1
    this.lines++
  }

  /** Appends lines and syncs the file. They become valid when the state is stored. */
  async append(lines: readonly string[], key: string): Promise<void> {
    if (lines.length === 0) return
    const text = Buffer.from(`${lines.join('\n')}\n`)
    // A full disk takes a part of a write, and refuses the next one.
    for (let at = 0; at < text.length; )
      at += (await this.handle.write(text, at, text.length - at, this.bytes + at)).bytesWritten
    await this.handle.datasync()
    for (const line of lines) this.#index(line, key)
  }

  get file(): DataFile {
    return { name: this.name, bytes: this.bytes }
  }
}

/**
 * A copy in a folder: for each set a file of JSON lines. The last line of a key is valid, and
 * `{"@removed":"K"}` removes it. `state.json` names the files and is replaced by a rename.
 */
export class FolderTarget implements ReplicaTarget {
  #state: FolderState | undefined
  #files = new Map<string, SetFile>()
  #next: Map<string, SetFile> | undefined
  /** Files of sets that the next copy leaves out. */
  #others: Readonly<Record<string, DataFile>> = {}
  readonly #keys = new Map<string, string>()

  private constructor(
    private readonly folder: string,
    private readonly unlock: () => void,
  ) {}

  static async open(path: string): Promise<FolderTarget> {
    try {
      await mkdir(path, { recursive: true })
    } catch (error) {
      failTarget(`the folder cannot be created: ${error instanceof Error ? error.message : String(error)}`)
    }
    const folder = await realpath(path)
    return new FolderTarget(folder, await lockFolder(folder))
  }

  async readState(): Promise<ReplicaState | undefined> {
    const names = await readdir(this.folder)
    if (!names.includes(STATE_FILE)) {
      const others = await this.#findOthers(names)
      if (others.length > 0) failTarget(`the folder contains other files: ${others.slice(0, 5).join(', ')}.`)
      return undefined
    }
    this.#state = JSON.parse(await readFile(join(this.folder, STATE_FILE), 'utf8')) as FolderState // written below
    return this.#state.state
  }

  /**
   * Returns the files that a first copy cannot have left when it ended before its first state: it creates empty
   * files of lines, then the state under another name.
   */
  async #findOthers(names: readonly string[]): Promise<readonly string[]> {
    const others: string[] = []
    for (const name of names) {
      const isOwn =
        name === NEW_STATE_FILE || (FIRST_FILE.test(name) && (await stat(join(this.folder, name))).size === 0)
      if (!isOwn) others.push(name)
    }
    return others
  }

  async #openFiles(sets: readonly SourceSet[], files: FolderState['files']): Promise<Map<string, SetFile>> {
    const opened = new Map<string, SetFile>()
    for (const set of sets) {
      this.#keys.set(set.name, set.key)
      const file = files[set.name]
      if (file) opened.set(set.name, await SetFile.open(this.folder, file, set.key))
    }
    return opened
  }

  async resume(sets: readonly SourceSet[]): Promise<void> {
    const files = this.#state?.files ?? {}
    this.#files = await this.#openFiles(sets, files)
    this.#others = Object.fromEntries(Object.entries(files).filter(([name]) => !this.#files.has(name)))
    this.#next = this.#state?.next && (await this.#openFiles(sets, this.#state.next))
    await this.#removeOthers()
  }

  async beginCopy(sets: readonly SourceSet[], state: ReplicaState): Promise<void> {
    await closeFiles(this.#next)
    const next = Object.fromEntries(
      sets.map(({ name }) => [name, { name: `${name}.${state.generation}.0.ndjson`, bytes: 0 }]),
    )
    this.#next = await this.#openFiles(sets, next)
    await this.#store(state)
    await this.#removeOthers()
  }

  /** Removes files that the state does not name: those of an interrupted copy or rewrite. */
  async #removeOthers(): Promise<void> {
    const files = [...this.#files.values(), ...(this.#next?.values() ?? []), ...Object.values(this.#others)]
    const known = files.map(({ name }) => name)
    for (const name of await readdir(this.folder))
      if (name.endsWith('.ndjson') && !known.includes(name)) await rm(join(this.folder, name))
  }

  /** Replaces the state atomically: writes and syncs a new file, then renames it. */
  async #store(state: ReplicaState): Promise<void> {
    const toRecord = (files: Map<string, SetFile>) =>
      Object.fromEntries([...files].map(([set, { file }]) => [set, file]))
    const files = { ...this.#others, ...toRecord(this.#files) }
    this.#state = { state, files, next: this.#next && toRecord(this.#next) }
    const path = join(this.folder, NEW_STATE_FILE)
    const handle = await open(path, 'w')
    await handle.writeFile(JSON.stringify(this.#state))
    await handle.datasync()
    await handle.close()
    await rename(path, join(this.folder, STATE_FILE))
  }

  async write(changes: readonly SetChange[], state: ReplicaState): Promise<void> {
    for (const { set, lines, removed } of changes) {
      const file = (this.#next ?? this.#files).get(set.name)
      const gone = removed
        .filter(key => file?.places.has(key))
        .map(key => JSON.stringify({ '@removed': key }))
      await file?.append([...gone, ...lines], set.key)
    }
    await this.#store(state)
  }

  async count(set: SourceSet): Promise<{ total: number; stale: number }> {
    const [old, next] = [this.#files.get(set.name)?.places, this.#next?.get(set.name)?.places]
    if (!next) return { total: old?.size ?? 0, stale: 0 }
    const stale = [...(old?.keys() ?? [])].filter(key => !next.has(key)).length
    return { total: next.size + stale, stale }
  }

  async finishCopy(_sets: readonly SourceSet[], state: ReplicaState): Promise<void> {
    const old = this.#files
    this.#files = this.#next ?? old
    this.#next = undefined
    this.#others = {}
    await this.#store(state)
    if (old !== this.#files) await closeFiles(old)
    await this.#removeOthers()
  }

  async readKeys(
    set: SourceSet,
    { field, generation, range = ALL_KEYS }: KeySelection,
  ): Promise<ReadonlyMap<string, string | null>> {
    const file = (generation === undefined ? this.#files : (this.#next ?? this.#files)).get(set.name)
    const keys = new Map<string, string | null>()
    if (!file) return keys
    const selected: [string, LinePlace][] = []
    for (const [key, place] of file.places) if (isInRange(key, range)) selected.push([key, place])
    if (field === undefined) return new Map(selected.map(([key]) => [key, null]))
    for await (const line of this.#readLines(file, selected)) {
      const record = JSON.parse(line) as Readonly<Record<string, unknown>> // a record of the source
      const value = record[field]
      keys.set(String(record[set.key]), value === null || value === undefined ? null : String(value))
    }
    return keys
  }

  /** Reads the lines of keys, or all valid lines, in the order of the file. */
  async *#readLines(
    file: SetFile,
    places: Iterable<readonly [string, LinePlace]> = file.places,
  ): AsyncGenerator<string> {
    for (const [, { at, length }] of places) {
      const { buffer } = await file.handle.read(Buffer.alloc(length), 0, length, at)
      yield buffer.toString('utf8')
    }
  }

  /** Rewrites files with many old lines, so that each key has one line. */
  async compact(state: ReplicaState): Promise<void> {
    for (const [set, file] of this.#files) {
      const old = file.lines - file.places.size
      if (old > Math.max(MIN_OLD_LINES, file.places.size)) await this.#rewrite(set, file, state)
    }
  }

  async #rewrite(set: string, file: SetFile, state: ReplicaState): Promise<void> {
    const key = this.#keys.get(set) ?? ''
    const [, generation, number] = /\.(\d+)\.(\d+)\.ndjson$/.exec(file.name) ?? []
    const name = `${set}.${generation}.${Number(number) + 1}.ndjson`
    const output = createWriteStream(join(this.folder, name), { flush: true })
    for await (const line of this.#readLines(file))
      if (!output.write(`${line}\n`)) await once(output, 'drain')
    output.end()
    await finished(output)
    this.#files.set(set, await SetFile.open(this.folder, { name, bytes: output.bytesWritten }, key))
    await this.#store(state)
    await file.handle.close()
    await rm(join(this.folder, file.name))
  }

  async close(): Promise<void> {
    await closeFiles(this.#files)
    await closeFiles(this.#next)
    this.unlock()
  }
}

async function closeFiles(files: ReadonlyMap<string, SetFile> | undefined): Promise<void> {
  for (const { handle } of files?.values() ?? []) await handle.close()
}
