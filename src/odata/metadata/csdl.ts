import { type Entity, getEntity, NAMESPACE, type Navigation, type Scalar } from '../../model/model.js'

export const ENTITY_CONTAINER_NAME = 'Default'

export const toQualifiedName = (name: string) => `${NAMESPACE}.${name}`

/** SRID of WGS 84, the default of geography types. It is explicit because some readers do not apply the default. */
const SRID = '4326'

/** Facets of a property by their XML names. JSON has a `$` before them (CSDL 4.01, 7.2). */
export function facetsOf({
  type,
  maxLength,
  precision,
  scale,
}: Scalar): Readonly<Record<string, number | string>> {
  return {
    ...(maxLength !== undefined && { MaxLength: maxLength }),
    ...(precision !== undefined && { Precision: precision }),
    ...(type === 'Decimal' && { Scale: scale ?? 'variable' }),
    ...(type === 'GeographyPoint' && { SRID }),
  }
}

/** Returns the name of the opposite navigation, if there is one (CSDL 4.01, 8.4). */
export function partnerOf(
  from: Entity,
  { relation, target, local, foreign }: Navigation,
): string | undefined {
  if (!relation) return undefined
  return getEntity(target).navigations.find(
    n => n.relation && n.target === from.name && n.local === foreign && n.foreign === local,
  )?.name
}

/**
 * Returns the referential constraint on the side with the foreign key. References without a foreign key have
 * none (CSDL 4.01, 8.5).
 */
export function referentialConstraintOf({
  relation,
  collection,
  local,
  foreign,
}: Navigation): { readonly local: string; readonly foreign: string } | undefined {
  return relation && !collection ? { local, foreign } : undefined
}
