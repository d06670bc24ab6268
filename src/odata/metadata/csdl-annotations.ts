import { isReadable, isSortable } from '../../model/field-record.js'
import type { Entity, Field, Scalar } from '../../model/model.js'

import { FUNCTIONS } from '../../query/functions.js'
import { SEARCHABLE_ENTITIES } from '../../query/limits.js'
import { hasEvents, trackedExpansionsOf } from '../../service/tracked-sources.js'

/**
 * The value of an annotation before its serialization. JSON represents members of enumerations and paths as
 * plain strings, XML does not.
 */
export type AnnotationExpression =
  | string
  | boolean
  | EnumMemberExpression
  | PropertyPathExpression
  | RecordExpression
  | readonly AnnotationExpression[]
interface EnumMemberExpression {
  readonly kind: 'member'
  readonly type: string
  readonly name: string
}
interface PropertyPathExpression {
  readonly kind: 'path'
  readonly path: string
}
interface RecordExpression {
  readonly kind: 'record'
  readonly values: Readonly<Record<string, AnnotationExpression>>
}

/** A term with the alias of its vocabulary, and its value. */
export type Annotation = readonly [term: string, value: AnnotationExpression]

/** The OASIS vocabularies in use, by alias. */
export const VOCABULARIES = [
  { alias: 'Core', namespace: 'Org.OData.Core.V1' },
  { alias: 'Capabilities', namespace: 'Org.OData.Capabilities.V1' },
] as const

/**
 * RESO's term for the Lookup of a string field. RESO publishes no document that defines the term, so there is
 * no reference to one. Clients of its family read the full name.
 */
const LOOKUP_NAME = 'RESO.OData.Metadata.LookupName'

const record = (values: Readonly<Record<string, AnnotationExpression>>): RecordExpression => ({
  kind: 'record',
  values,
})
const paths = (scalars: readonly Field[]): readonly PropertyPathExpression[] =>
  scalars.map(s => ({ kind: 'path', path: s.name }))
const enumMember = (type: string, name: string): EnumMemberExpression => ({ kind: 'member', type, name })

const descriptionAnnotation = ({ description }: { readonly description: string }): readonly Annotation[] =>
  description === '' ? [] : [['Core.Description', description]]

export const entityTypeAnnotations = (entity: Entity): readonly Annotation[] => descriptionAnnotation(entity)

/**
 * Returns facts about a field besides its type: its meaning, who sets it, whether it can be read, and its
 * Lookup.
 */
export function propertyAnnotations(entity: Entity, field: Field): readonly Annotation[] {
  if (field.kind === 'navigation') return descriptionAnnotation(field)
  return [
    ...descriptionAnnotation(field),
    ...annotateIf(entity.writable && field.setBy === 'service', ['Core.Computed', true]),
    ...annotateIf(!isReadable(field), [
      'Core.Permissions',
      enumMember('Org.OData.Core.V1.Permission', 'Write'),
    ]),
    ...(field.lookup ? [[LOOKUP_NAME, field.lookup.name] as const] : []),
    ...revisionsAnnotation(field),
  ]
}

const revisionsAnnotation = ({ deprecated }: Scalar): readonly Annotation[] =>
  deprecated === undefined
    ? []
    : [
        [
          'Core.Revisions',
          [
            record({
              Kind: enumMember('Org.OData.Core.V1.RevisionKind', 'Deprecated'),
              Description: deprecated,
            }),
          ],
        ],
      ]

const annotateIf = (holds: boolean, annotation: Annotation): readonly Annotation[] =>
  holds ? [annotation] : []

/**
 * Returns the capabilities of an entity set. `Core.OptimisticConcurrency` is omitted: it would require
 * clients to send If-Match (Part 1, 11.4.1.1), which is optional here.
 */
export function entitySetAnnotations(entity: Entity): readonly Annotation[] {
  const { name, writable, immutable = false, scalars } = entity
  const unreadable = scalars.filter(s => !isReadable(s))
  const required = scalars.filter(s => s.required)
  return [
    [
      'Capabilities.InsertRestrictions',
      record({ Insertable: writable, ...(writable && { RequiredProperties: paths(required) }) }),
    ],
    [
      'Capabilities.UpdateRestrictions',
      record({ Updatable: writable && !immutable, Upsertable: false, DeltaUpdateSupported: false }),
    ],
    ['Capabilities.DeleteRestrictions', record({ Deletable: writable })],
    ['Capabilities.CountRestrictions', record({ Countable: true })],
    [
      'Capabilities.FilterRestrictions',
      record({
        Filterable: true,
        ...(unreadable.length > 0 && { NonFilterableProperties: paths(unreadable) }),
      }),
    ],
    ['Capabilities.ExpandRestrictions', record({ Expandable: entity.navigations.length > 0 })],
    [
      'Capabilities.SortRestrictions',
      record({ Sortable: true, NonSortableProperties: paths(scalars.filter(s => !isSortable(s))) }),
    ],
    [
      'Capabilities.NavigationRestrictions',
      record({ Navigability: enumMember('Org.OData.Capabilities.V1.NavigationType', 'Recursive') }),
    ],
    ['Capabilities.SearchRestrictions', record({ Searchable: SEARCHABLE_ENTITIES.has(name) })],
    ['Capabilities.ChangeTracking', changeTrackingOf(entity)],
    ['Capabilities.TopSupported', true],
    ['Capabilities.SkipSupported', true],
    ['Capabilities.IndexableByKey', true],
  ]
}

/** The queries with delta links: filters over fields of the set, and the expansions that are listed. */
function changeTrackingOf(entity: Entity): RecordExpression {
  if (!hasEvents(entity)) return record({ Supported: false })
  return record({
    Supported: true,
    FilterableProperties: paths(entity.scalars.filter(isReadable)),
    ExpandableProperties: paths(trackedExpansionsOf(entity)),
  })
}

/**
 * Functions that are not in the list: `negate` is the sign of a number and has no name in a filter. The
 * others are shorthand or need a body.
 */
const FILTER_FUNCTION_NAMES = [
  ...Object.keys(FUNCTIONS).filter(name => name !== 'negate'),
  'has',
  'cast',
  'isof',
  'any',
  'all',
]

/**
 * Returns the capabilities of the service. Capabilities.KeyAsSegmentSupported is omitted: tools that read it
 * (odata-openapi) would write keys only as segments.
 */
export const ENTITY_CONTAINER_ANNOTATIONS: readonly Annotation[] = [
  ['Core.ODataVersions', '4.0 4.01'],
  ['Capabilities.SupportedFormats', ['application/json', 'application/x-ndjson', 'text/csv']],
  ['Capabilities.FilterFunctions', FILTER_FUNCTION_NAMES],
  [
    'Capabilities.BatchSupport',
    record({
      Supported: true,
      ContinueOnErrorSupported: true,
      ReferencesInRequestBodiesSupported: false,
      ReferencesAcrossChangeSetsSupported: true,
      EtagReferencesSupported: true,
      RequestDependencyConditionsSupported: false,
      SupportedFormats: ['application/json', 'application/x-ndjson', 'text/csv', 'multipart/mixed'],
    }),
  ],
  ['Capabilities.QuerySegmentSupported', true],
  ['Capabilities.CrossJoinSupported', false],
  ['Capabilities.AsynchronousRequestsSupported', false],
  ['Capabilities.DeepInsertSupport', record({ Supported: false, ContentIDSupported: false })],
  ['Capabilities.DeepUpdateSupport', record({ Supported: false, ContentIDSupported: false })],
]
