import type { WriteResult, WriteService } from '../writing.js'

/** A written record. */
export interface WrittenRecord extends WriteResult {
  /** The JSON has a secret that cannot be read again. */
  readonly hasSecret?: boolean
}

/** Writes records of one entity: the listings, or an entity of administration. */
export interface RecordWriter extends Pick<WriteService, 'remove'> {
  create(...parameters: Parameters<WriteService['create']>): Promise<WrittenRecord>
  update(...parameters: Parameters<WriteService['update']>): Promise<WrittenRecord>
  replace(...parameters: Parameters<WriteService['replace']>): Promise<WrittenRecord>
}
