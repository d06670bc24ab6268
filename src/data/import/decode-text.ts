import { isAscii, isUtf8 } from 'node:buffer'
import iconv from 'iconv-lite'
import { IMPORT_FAULTS } from '../../errors/import-faults.js'
import type { Phrase } from '../../errors/phrase.js'

/** Encodings of import files. */
export const FILE_ENCODINGS = ['utf-8', 'windows-1252'] as const
export type FileEncoding = (typeof FILE_ENCODINGS)[number]

/** Replaces bytes in decoded text that are invalid in the encoding. */
export const REPLACEMENT_CHARACTER = '\uFFFD'

/** A text that was decoded incorrectly: the reason, and a pattern of its incorrect parts. */
export interface MisreadText {
  readonly reason: Phrase
  readonly pattern: RegExp
}

export interface DecodedText {
  readonly text: string
  readonly misread?: MisreadText
}

const REPLACED = /\uFFFD/
const NOT_ASCII = /[^\p{ASCII}]/u

/**
 * Decodes bytes of a file. TextDecoder of Node decodes the bytes 0x80 to 0x9F of Windows-1252 as control
 * characters, so iconv-lite decodes Windows-1252.
 */
export function decodeText(bytes: Buffer, encoding: FileEncoding): DecodedText {
  if (isAscii(bytes)) return { text: bytes.toString('latin1') }
  return encoding === 'utf-8' ? decodeUtf8(bytes) : decodeWindows1252(bytes)
}

function decodeUtf8(bytes: Buffer): DecodedText {
  const text = bytes.toString('utf8')
  if (isUtf8(bytes)) return { text }
  return { text, misread: { reason: IMPORT_FAULTS.notUtf8, pattern: REPLACED } }
}

/**
 * Decodes Windows-1252. Real text in Windows-1252 is never valid UTF-8, since that requires sequences such as
 * `Ã©`.
 */
function decodeWindows1252(bytes: Buffer): DecodedText {
  const text = iconv.decode(bytes, 'windows-1252')
  if (isUtf8(bytes))
    return {
      text,
      misread: { reason: IMPORT_FAULTS.notWindows1252, pattern: NOT_ASCII },
    }
  return text.includes(REPLACEMENT_CHARACTER)
    ? { text, misread: { reason: IMPORT_FAULTS.undefinedInWindows1252, pattern: REPLACED } }
    : { text }
}

/** Returns the number of bytes of a decoded text in its file. */
export const encodedLength = (text: string, encoding: FileEncoding): number =>
  encoding === 'utf-8' ? Buffer.byteLength(text) : text.length

const UTF8_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** Returns the name of another encoding if the first bytes of a file show one. */
export function detectForeignEncoding(start: Buffer, encoding: FileEncoding): string | undefined {
  if (encoding === 'windows-1252' && hasUtf8Mark(start)) return 'UTF-8'
  const [first, second] = start
  if (first === 0xfe && second === 0xff) return 'UTF-16'
  if (first === 0xff && second === 0xfe) return 'UTF-16'
  // A JSON object begins with an ASCII character, so a zero byte belongs to a wider code unit.
  return first === 0 || second === 0 ? 'UTF-16 or UTF-32' : undefined
}

/** Returns true if a file begins with the byte order mark of UTF-8, which is not part of its text. */
export const hasUtf8Mark = (start: Buffer): boolean => start.subarray(0, 3).equals(UTF8_MARK)
