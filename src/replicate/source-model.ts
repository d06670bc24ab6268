import { XMLParser } from 'fast-xml-parser'
import { failSource } from './failure.js'

/** A field of an entity set, with its type as in $metadata: `Edm.String`, `Collection(Edm.String)`. */
export interface SourceField {
  readonly name: string
  readonly type: string
  readonly precision: number | undefined
  readonly scale: number | undefined
}

/** An entity set with one key field. */
export interface SourceSet {
  readonly name: string
  readonly key: string
  readonly fields: readonly SourceField[]
}

type XmlNode = Readonly<Record<string, unknown>>

const ARRAYS = new Set(['Schema', 'EntityType', 'EntityContainer', 'EntitySet', 'Property', 'PropertyRef'])

const toNodes = (value: unknown): readonly XmlNode[] => (Array.isArray(value) ? value.filter(isNode) : [])
const isNode = (value: unknown): value is XmlNode => typeof value === 'object' && value !== null
const textOf = (node: XmlNode, name: string): string | undefined =>
  node[name] === undefined ? undefined : String(node[name])
const numberOf = (node: XmlNode, name: string): number | undefined => {
  const text = textOf(node, name)
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined
}

/** Reads the entity sets of a $metadata document. Sets without a key of one field are left out. */
export function parseMetadata(xml: string): readonly SourceSet[] {
  const parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: '',
    removeNSPrefix: true,
    isArray: name => ARRAYS.has(name),
  })
  const document: unknown = parser.parse(xml)
  const edmx =
    isNode(document) && isNode(document['Edmx']) ? document['Edmx'] : failSource('$metadata is not EDMX.')
  const services = isNode(edmx['DataServices']) ? edmx['DataServices'] : {}
  const schemas = toNodes(services['Schema'])
  const types = new Map<string, XmlNode>(
    schemas.flatMap(schema =>
      toNodes(schema['EntityType']).map(
        type => [`${textOf(schema, 'Namespace')}.${textOf(type, 'Name')}`, type] as const,
      ),
    ),
  )
  const sets = schemas
    .flatMap(schema => toNodes(schema['EntityContainer']))
    .flatMap(c => toNodes(c['EntitySet']))
  return sets.flatMap(set => toSet(set, types.get(textOf(set, 'EntityType') ?? '')))
}

function toSet(set: XmlNode, type: XmlNode | undefined): readonly SourceSet[] {
  const key = type && isNode(type['Key']) ? toNodes(type['Key']['PropertyRef']) : []
  const [name, keyName] = [textOf(set, 'Name'), key[0] && textOf(key[0], 'Name')]
  if (!type || name === undefined || keyName === undefined || key.length !== 1) return []
  const fields = toNodes(type['Property']).map(property => ({
    name: textOf(property, 'Name') ?? '',
    type: textOf(property, 'Type') ?? 'Edm.String',
    precision: numberOf(property, 'Precision'),
    scale: numberOf(property, 'Scale'),
  }))
  return [{ name, key: keyName, fields }]
}
