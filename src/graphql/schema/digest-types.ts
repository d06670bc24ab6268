import {
  DEFAULT_BUCKETS,
  DIGEST_ENTITIES,
  MAX_DIGEST_BUCKETS,
  MAX_DIGEST_RANGES,
  MAX_DIGEST_RECORDS,
} from '../../service/digest.js'
import type { FieldDefinition, TypeDefinition } from './sdl-text.js'

/** The name of the field of Query. */
export const DIGEST_FIELD_NAME = 'digest'

/** The field of Query that compares a copy with the service, with the same members as in OData. */
export const DIGEST_FIELD: FieldDefinition = {
  name: DIGEST_FIELD_NAME,
  type: 'Digest!',
  description: `Counts and hashes of the records in ranges of keys, to find those of a copy that differ. It covers at most ${MAX_DIGEST_RECORDS} records.`,
  args: [
    {
      name: 'resourceName',
      type: 'String!',
      description: `One of ${[...DIGEST_ENTITIES.keys()].join(', ')}.`,
    },
    {
      name: 'ranges',
      type: '[KeyRange!]',
      description: `Ranges of keys, at most ${MAX_DIGEST_RANGES}. Without it all keys are one range.`,
    },
    {
      name: 'buckets',
      type: 'Int',
      description: `Number of buckets of each range, ${DEFAULT_BUCKETS} by default. All ranges together have at most ${MAX_DIGEST_BUCKETS}.`,
    },
    { name: 'where', type: 'String', description: 'Selects records by an OData filter as text.' },
  ],
}

/** The types of the field. */
export const DIGEST_TYPES: readonly TypeDefinition[] = [
  {
    head: 'input KeyRange',
    description: 'The keys from `From` up to and without `To`, by code point.',
    fields: [
      { name: 'From', type: 'String', description: 'The lowest key. Null: the first key.' },
      {
        name: 'To',
        type: 'String',
        description: 'The end, which is not included. Null: after the last key.',
      },
    ],
  },
  {
    head: 'type Digest',
    description: 'Counts and hashes of the records at one moment.',
    fields: [
      {
        name: 'LastEventSequence',
        type: 'Long!',
        description: 'The number of the newest event of the change log at that moment.',
      },
      {
        name: 'Ranges',
        type: '[DigestRange!]!',
        description:
          'The ranges in the order of the request. Those beyond the limit of records are left out.',
      },
    ],
  },
  {
    head: 'type DigestRange',
    description: 'A range of keys.',
    fields: [
      { name: 'From', type: 'String!', description: 'The lowest key.' },
      {
        name: 'To',
        type: 'String',
        description: 'The end, which is before that of the request if the limit of records was reached.',
      },
      {
        name: 'Buckets',
        type: '[DigestBucket!]!',
        description: 'The records of the range in the order of their keys, in parts of equal size.',
      },
    ],
  },
  {
    head: 'type DigestBucket',
    description: 'Records that follow each other in the order of their keys.',
    fields: [
      { name: 'First', type: 'String!', description: 'The key of the first record.' },
      { name: 'Count', type: 'Int!', description: 'The number of records.' },
      {
        name: 'Hash',
        type: 'String!',
        description:
          'SHA-256 in hexadecimal of a line for each record: bytes of the key, colon, key, comma, LastEventSequence, line feed.',
      },
    ],
  },
]
