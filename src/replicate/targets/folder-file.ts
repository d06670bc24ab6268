import { createReadStream, existsSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { failTarget } from '../failure.js'

/** A file of lines. Only its first `bytes` bytes are valid. */
export interface DataFile {
  readonly name: string
  readonly bytes: number
}

/** Position and length of a line in bytes. */
export interface LinePlace {
  readonly at: number
  readonly length: number
}

/** An open file, and the position of the valid line of each key. */
export class SetFile {
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
      failTarget(`${path} is shorter than state.json says. Delete the folder for a new copy.`)
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
