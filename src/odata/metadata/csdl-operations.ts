import { type EntityModel, LISTING_MODEL } from '../../model/model.js'
import { DIGEST_ENTITIES, MAX_DIGEST_BUCKETS, MAX_DIGEST_RANGES } from '../../service/digest.js'
import type { Annotation } from './csdl-annotations.js'

/** A property of a complex type, or a parameter of a function. */
export interface CsdlMember {
  readonly name: string
  /** The name of a primitive type, or of a complex type of the schema. */
  readonly type: string
  readonly collection?: boolean
  readonly nullable?: boolean
  readonly annotations: readonly Annotation[]
}

/** A complex type. */
export interface ComplexType {
  readonly name: string
  readonly properties: readonly CsdlMember[]
  readonly annotations: readonly Annotation[]
}

/** A function without a binding parameter, which the container imports under its name. */
export interface FunctionType {
  readonly name: string
  readonly parameters: readonly CsdlMember[]
  readonly returnType: string
  readonly annotations: readonly Annotation[]
}

const describe = (text: string): readonly Annotation[] => [['Core.Description', text]]
const OPTIONAL: Annotation = ['Core.OptionalParameter', { kind: 'record', values: {} }]

/** The type of the function's result. A type and a function of a schema cannot have the same name. */
const DIGEST_TYPE_NAME = 'DigestResult'

const COMPLEX_TYPES: readonly ComplexType[] = [
  {
    name: 'KeyRange',
    annotations: describe('The keys from `From` up to and without `To`, by code point.'),
    properties: [
      { name: 'From', type: 'Edm.String', nullable: true, annotations: describe('The lowest key. Null: the first key.') },
      { name: 'To', type: 'Edm.String', nullable: true, annotations: describe('The end, which is not included. Null: after the last key.') },
    ],
  },
  {
    name: 'DigestBucket',
    annotations: describe('Records that follow each other in the order of their keys.'),
    properties: [
      { name: 'First', type: 'Edm.String', annotations: describe('The key of the first record.') },
      { name: 'Count', type: 'Edm.Int32', annotations: describe('The number of records.') },
      { name: 'Hash', type: 'Edm.String', annotations: describe('SHA-256 in hexadecimal of a line for each record: bytes of the key, colon, key, comma, LastEventSequence, line feed.') },
    ],
  },
  {
    name: 'DigestRange',
    annotations: describe('A range of keys.'),
    properties: [
      { name: 'From', type: 'Edm.String', annotations: describe('The lowest key.') },
      { name: 'To', type: 'Edm.String', nullable: true, annotations: describe('The end, which is before that of the request if the limit of records was reached.') },
      { name: 'Buckets', type: 'DigestBucket', collection: true, annotations: describe('The records of the range in the order of their keys, in parts of equal size.') },
    ],
  },
  {
    name: DIGEST_TYPE_NAME,
    annotations: describe('Counts and hashes of the records of one moment.'),
    properties: [
      { name: 'LastEventSequence', type: 'Edm.Int64', annotations: describe('The number of the newest event of the change log at that moment.') },
      { name: 'Ranges', type: 'DigestRange', collection: true, annotations: describe('The ranges in the order of the request. Those beyond the limit of records are left out.') },
    ],
  },
] // biome-ignore format: one row a property

const FUNCTION_TYPES: readonly FunctionType[] = [
  {
    name: 'Digest',
    annotations: describe('Counts and hashes of the records in ranges of keys, to find those of a copy that differ.'),
    parameters: [
      { name: 'ResourceName', type: 'Edm.String', annotations: describe(`One of ${[...DIGEST_ENTITIES.keys()].join(', ')}.`) },
      { name: 'Ranges', type: 'KeyRange', collection: true, annotations: [...describe(`At most ${MAX_DIGEST_RANGES} ranges. Without them all keys are one range.`), OPTIONAL] },
      { name: 'Buckets', type: 'Edm.Int32', nullable: true, annotations: [...describe(`Number of buckets of each range. All ranges together have at most ${MAX_DIGEST_BUCKETS}.`), OPTIONAL] },
      { name: 'Filter', type: 'Edm.String', nullable: true, annotations: [...describe('Selects records by a filter as text.'), OPTIONAL] },
    ],
    returnType: DIGEST_TYPE_NAME,
  },
] // biome-ignore format: one row a parameter

/** Returns the complex types and functions of a service. Only that of the listings has some. */
export const operationsOf = (
  model: EntityModel,
): { readonly complexTypes: readonly ComplexType[]; readonly functions: readonly FunctionType[] } =>
  model === LISTING_MODEL
    ? { complexTypes: COMPLEX_TYPES, functions: FUNCTION_TYPES }
    : { complexTypes: [], functions: [] }

/** The qualified name of a member's type. */
export const memberTypeName = (
  { type }: Pick<CsdlMember, 'type'>,
  qualify: (name: string) => string,
): string => (type.startsWith('Edm.') ? type : qualify(type))
