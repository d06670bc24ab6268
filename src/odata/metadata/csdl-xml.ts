import {
  ENTITIES,
  type Entity,
  entity,
  type Field,
  NAMESPACE,
  type Navigation,
  type Scalar,
} from '../../model/model.js'
import { CONTAINER, constraintOf, facetsOf, isOptional, partnerOf, qualify } from './csdl.js'
import {
  type Annotation,
  OF_SERVICE,
  ofField,
  ofSet,
  ofType,
  type Value,
  VOCABULARIES,
} from './csdl-annotations.js'
import { type Element, element } from './xml.js'

/**
 * The entity model as a document of CSDL XML. It says 4.0, which readers of both versions take; nothing in it
 * is newer.
 */
export function toCsdlXml(): Element {
  const entities = [...ENTITIES.values()]
  const sets = [...entities.map(toEntitySet), ...OF_SERVICE.map(toAnnotation)]
  return element('edmx:Edmx', { Version: '4.0', 'xmlns:edmx': 'http://docs.oasis-open.org/odata/ns/edmx' }, [
    ...VOCABULARIES.map(toReference),
    element('edmx:DataServices', {}, [
      element('Schema', { Namespace: NAMESPACE, xmlns: 'http://docs.oasis-open.org/odata/ns/edm' }, [
        ...entities.map(toEntityType),
        element('EntityContainer', { Name: CONTAINER }, sets),
      ]),
    ]),
  ])
}

const toReference = ({ alias, namespace }: (typeof VOCABULARIES)[number]) =>
  element(
    'edmx:Reference',
    { Uri: `https://oasis-tcs.github.io/odata-vocabularies/vocabularies/${namespace}.xml` },
    [element('edmx:Include', { Namespace: namespace, Alias: alias })],
  )

function toEntityType(of: Entity): Element {
  const key = element('Key', {}, [element('PropertyRef', { Name: of.key.name })])
  return element('EntityType', { Name: of.typeName }, [
    key,
    ...[...of.fields.values()].map(f => toProperty(of, f)),
    ...ofType(of).map(toAnnotation),
  ])
}

function toProperty(of: Entity, field: Field): Element {
  const annotations = ofField(of, field).map(toAnnotation)
  return field.kind === 'scalar' ? toScalar(field, annotations) : toNavigation(of, field, annotations)
}

const typeOf = (name: string, collection: boolean) => (collection ? `Collection(${name})` : name)
const nullable = (isNullable: boolean) => (isNullable ? undefined : 'false')

const toScalar = (s: Scalar, annotations: readonly Element[]) =>
  element(
    'Property',
    {
      Name: s.name,
      Type: typeOf(`Edm.${s.type}`, s.collection),
      Nullable: nullable(s.nullable),
      ...facetsOf(s),
    },
    annotations,
  )

function toNavigation(of: Entity, n: Navigation, annotations: readonly Element[]): Element {
  const constraint = constraintOf(n)
  const type = typeOf(qualify(entity(n.target).typeName), n.collection)
  return element(
    'NavigationProperty',
    {
      Name: n.name,
      Type: type,
      Nullable: nullable(n.collection || isOptional(of, n)),
      Partner: partnerOf(of, n),
    },
    [
      ...(constraint
        ? [
            element('ReferentialConstraint', {
              Property: constraint.local,
              ReferencedProperty: constraint.foreign,
            }),
          ]
        : []),
      ...annotations,
    ],
  )
}

const toEntitySet = (of: Entity) =>
  element('EntitySet', { Name: of.name, EntityType: qualify(of.typeName) }, [
    ...of.navigations.map(n => element('NavigationPropertyBinding', { Path: n.name, Target: n.target })),
    ...ofSet(of).map(toAnnotation),
  ])

const toAnnotation = ([term, value]: Annotation) => holding('Annotation', { Term: term }, value)

/**
 * An element that holds a value: simple ones stand in an attribute, records and collections inside (CSDL XML
 * 4.01, 14.3 and 14.4).
 */
function holding(name: string, attributes: Readonly<Record<string, string>>, value: Value): Element {
  const simple = toSimple(value)
  return simple
    ? element(name, { ...attributes, [simple.name]: simple.text })
    : element(name, attributes, [toItem(value)])
}

function toSimple(value: Value): { readonly name: string; readonly text: string } | undefined {
  if (typeof value === 'string') return { name: 'String', text: value }
  if (typeof value === 'boolean') return { name: 'Bool', text: String(value) }
  if (!('kind' in value) || value.kind === 'record') return undefined
  return value.kind === 'member'
    ? { name: 'EnumMember', text: `${value.type}/${value.name}` }
    : { name: 'PropertyPath', text: value.to }
}

function toItem(value: Value): Element {
  const simple = toSimple(value)
  if (simple) return element(simple.name, {}, simple.text)
  if (typeof value === 'object' && 'kind' in value && value.kind === 'record')
    return element(
      'Record',
      {},
      Object.entries(value.values).map(([name, v]) => holding('PropertyValue', { Property: name }, v)),
    )
  return element('Collection', {}, Array.isArray(value) ? value.map(toItem) : [])
}
