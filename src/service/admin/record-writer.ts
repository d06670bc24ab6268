import type { RequestScope } from '../../domain/request-scope.js'
import { type Entity, isAdminEntity } from '../../model/model.js'
import type { WriteResult, WriteService } from '../writing.js'
import type { AdminService } from './administration.js'

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

/** The services that write records. */
export interface WriteServices {
  readonly writing: WriteService
  readonly administration: AdminService
}

/** Returns the writer of an entity for one request. */
export const writerFor = (
  of: Entity,
  { writing, administration }: WriteServices,
  scope: RequestScope,
): RecordWriter =>
  isAdminEntity(of) ? administration.forRequest(scope).writerOf(of) : writing.forRequest(scope)
