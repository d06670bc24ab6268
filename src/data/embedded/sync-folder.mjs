// Syncs the files of a folder to disk. It is JavaScript because the thread of PGlite imports it.
// @ts-check
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Files synced at a time. Node has four threads for file operations by default. */
const CONCURRENCY = 8

/**
 * Syncs every file and folder below a folder to disk.
 * @param {string} folder
 * @returns {Promise<ReadonlyMap<string, number>>} the modification time of each path from before the sync; a
 * file with another time was written since then
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
