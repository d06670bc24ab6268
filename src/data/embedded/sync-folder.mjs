// Forces the files of a folder to the disk. It is JavaScript because the thread of PGlite imports it.
// @ts-check
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Files at a time. Node has four threads for them by default. */
const CONCURRENCY = 8

/**
 * Forces every file and folder below a folder to the disk.
 * @param {string} folder
 * @returns {Promise<ReadonlyMap<string, number>>} the modification time of each by its path, from before it was
 * forced: what has another time was written since.
 */
export async function syncFolder(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const pending = [folder, ...entries.map(entry => join(entry.parentPath, entry.name))]
  /** @type {Map<string, number>} */
  const modifiedAt = new Map()
  const syncPending = async () => {
    for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
      const file = await open(path, 'r')
      try {
        modifiedAt.set(path, (await file.stat()).mtimeMs)
        await file.sync()
      } finally {
        await file.close()
      }
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, syncPending))
  return modifiedAt
}
