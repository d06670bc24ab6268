import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The browser of this machine, or undefined. Without it, its tests are skipped. */
export const BROWSER_PATH = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap(folder => NAMES.map(name => join(folder, name)))
  .find(isExecutable)
