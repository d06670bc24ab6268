import type { LiteralType } from '../query/ast.js'
import { toPlainDecimal } from './literals-number.js'

export interface GeoLiteral {
  readonly type: LiteralType
  readonly value: string
  readonly srid: number
}

type WktPosition = readonly [longitude: string, latitude: string]

const UNSUPPORTED_GEO_TYPES =
  /^(?:LineString|MultiPoint|MultiLineString|MultiPolygon|GeometryCollection)\s*\([-+\w\s.,()]*\)$/i

/**
 * Reads a literal like `SRID=4326;POINT(-105 39.7)` (OData ABNF, fullPointLiteral). A point becomes
 * `longitude latitude`. A polygon becomes its rings, `lon lat,lon lat;lon lat,lon lat`. Each ring must be
 * closed and have at least four positions. A third and fourth coordinate are ignored.
 */
export function readGeoLiteral(kind: 'Geography' | 'Geometry', text: string): GeoLiteral | undefined {
  const [, digits, body = ''] = /^SRID=(\d{1,5});(.*)$/is.exec(text) ?? []
  const srid = Number(digits)
  const [, point] = /^Point\s*\(([^()]*)\)$/i.exec(body) ?? []
  if (point !== undefined) {
    const position = readWktPosition(kind, point)
    return position && { type: `${kind}Point`, value: position.join(' '), srid }
  }
  const [, polygon] = /^Polygon\s*\((.*)\)$/is.exec(body) ?? []
  if (polygon !== undefined) {
    const value = readPolygonRings(kind, polygon)
    return value === undefined ? undefined : { type: `${kind}Polygon`, value, srid }
  }
  return UNSUPPORTED_GEO_TYPES.test(body) && isBalanced(body)
    ? { type: `${kind}Other`, value: body, srid }
    : undefined
}

function readPolygonRings(kind: 'Geography' | 'Geometry', text: string): string | undefined {
  if (!/^\s*\([^()]*\)\s*(?:,\s*\([^()]*\)\s*)*$/.test(text)) return undefined
  const rings = [...text.matchAll(/\(([^()]*)\)/g)].map(([, ring = '']) =>
    ring.split(',').map(position => readWktPosition(kind, position)?.join(' ')),
  )
  const isValid = rings.every(
    ring => ring.length >= 4 && !ring.includes(undefined) && ring[0] === ring.at(-1),
  )
  return isValid ? rings.map(ring => ring.join(',')).join(';') : undefined
}

function readWktPosition(kind: 'Geography' | 'Geometry', text: string): WktPosition | undefined {
  const numbers = text.trim().split(/\s+/).map(toPlainDecimal)
  const [x, y] = numbers
  if (x === undefined || y === undefined || numbers.length > 4 || numbers.includes(undefined))
    return undefined
  const onEarth = Math.abs(Number(x)) <= 180 && Math.abs(Number(y)) <= 90
  return kind === 'Geometry' || onEarth ? [x, y] : undefined
}

function isBalanced(text: string): boolean {
  let open = 0
  for (const c of text) {
    if (c === '(') open++
    if (c === ')' && --open < 0) return false
  }
  return open === 0
}
