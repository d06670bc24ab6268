import { FEATURES } from '../../errors/features.js'
import { fail } from '../../errors/problem.js'
import { isAdminEntity } from '../../model/model.js'
import type { ODataServices } from '../protocol/request.js'

/**
 * Returns the services of a group, which is one transaction of listings. A change of administration is a transaction of
 * its own, so that no group can contain it.
 */
export const toGroupServices = (
  { reading, deltas, digests }: ODataServices,
  writing: ODataServices['writing'],
): ODataServices => ({
  reading,
  deltas,
  digests,
  writing,
  writerOf: of =>
    isAdminEntity(of)
      ? fail({ kind: 'NotImplemented', feature: FEATURES.batchGroupOfAdministration })
      : writing,
  exports: undefined,
})
