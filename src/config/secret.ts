import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const SECRET_FILE = 'secret'

/**
 * Returns the secret of the embedded database, stored in DATA_DIR (file mode 0600, folder mode 0700). The
 * first call creates it. The service and a command may create it at the same moment. A hard link gives the
 * complete file its name: only one process can create the link, and both then read that file.
 * @throws Error with a sentence for the operator if the folder or the file cannot be used
 */
export function readOrCreateSecret(dataDir: string): string {
  const secret = readOrCreateFile(dataDir, join(dataDir, SECRET_FILE))
  if (Buffer.byteLength(secret) >= 32) return secret
  throw new Error(
    `DATA_DIR contains a file '${SECRET_FILE}' that is shorter than 32 bytes. Remove it to create a new one, which invalidates all tokens.`,
  )
}

function readOrCreateFile(dataDir: string, path: string): string {
  try {
    if (!existsSync(path)) createSecretFile(dataDir, path)
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new Error(`DATA_DIR is '${dataDir}'; expected a writable folder (${reasonOf(error)}).`)
  }
}

function createSecretFile(dataDir: string, path: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  writeFileSync(draft, `${randomBytes(48).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
  try {
    linkSync(draft, path)
  } catch (error) {
    if (reasonOf(error) !== 'EEXIST') throw error
  } finally {
    rmSync(draft)
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error)
