import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdir, open, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { failTarget } from '../failure.js'
import { type ComparedRange, isInRange } from '../key-range.js'
import type { SourceSet } from '../source-model.js'
import type { ReplicaState } from '../state.js'
import type { KeySelection, ReplicaTarget, SetChange } from '../target.js'
import { type DataFile, type LinePlace, SetFile } from './folder-file.js'
import { lockFolder } from './folder-lock.js'

const STATE_FILE = 'state.json'
/** The next state, before it replaces the current one. */
const NEW_STATE_FILE = `${STATE_FILE}.new`
/** Name of a file of lines: set, generation, number of rewrites. */
const LINES_FILE = /^\w+\.(\d+)\.(\d+)\.ndjson$/
/** Name of a file of lines of a first copy. */
const FIRST_FILE = /^\w+\.1\.0\.ndjson$/
/**
 * Minimum number of old lines for a rewrite. A file is rewritten when it has more old lines than valid ones.
 */
const MIN_OLD_LINES = 1000

const ALL_KEYS: ComparedRange = { from: '', to: null }

interface FolderState {
  readonly state: ReplicaState
  /** Files of the current copy, by set. */
  readonly files: Readonly<Record<string, DataFile>>
  /** Files of a full copy in progress. */
  readonly next: Readonly<Record<string, DataFile>> | undefined
}

/** Another program can have a file with the name of the state. */
const isFolderState = (value: unknown): value is FolderState =>
  typeof (value as FolderState | null)?.state?.layout === 'number' &&
  typeof (value as FolderState).files === 'object'

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
    this.#state = await this.#parseState()
    return this.#state.state
  }

  async #parseState(): Promise<FolderState> {
    const text = await readFile(join(this.folder, STATE_FILE), 'utf8')
    try {
      const state: unknown = JSON.parse(text)
      if (isFolderState(state)) return state
    } catch {
      // It is not JSON.
    }
    return failTarget(`${STATE_FILE} of the folder is not that of a copy. Choose another folder.`)
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
      if (LINES_FILE.test(name) && !known.includes(name)) await rm(join(this.folder, name))
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
    const [, generation, number] = LINES_FILE.exec(file.name) ?? []
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
