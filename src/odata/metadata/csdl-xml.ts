import { isNullableNavigation } from '../../model/field-record.js'
import {
  type Entity,
  type EntityModel,
  type Field,
  getEntity,
  LISTING_MODEL,
  NAMESPACE,
  type Navigation,
  type Scalar,
} from '../../model/model.js'
import {
  ENTITY_CONTAINER_NAME,
  facetsOf,
  partnerOf,
  referentialConstraintOf,
  toQualifiedName,
} from './csdl.js'
import {
  type Annotation,
  type AnnotationExpression,
  ENTITY_CONTAINER_ANNOTATIONS,
  entitySetAnnotations,
  entityTypeAnnotations,
  propertyAnnotations,
  VOCABULARIES,
} from './csdl-annotations.js'
import {
  type ComplexType,
  type CsdlMember,
  type FunctionType,
  memberTypeName,
  operationsOf,
} from './csdl-operations.js'
import { type XmlElement, xmlElement } from './xml.js'

/**
 * Renders the entity model as CSDL XML. The version is 4.0, which readers of both versions accept. The
 * document uses nothing newer.
 */
export function toCsdlXml(model: EntityModel = LISTING_MODEL): XmlElement {
  const entities = [...model.entities.values()]
  const { complexTypes, functions } = operationsOf(model)
  const sets = [
    ...entities.map(toEntitySet),
    ...functions.map(toFunctionImport),
    ...ENTITY_CONTAINER_ANNOTATIONS.map(toAnnotation),
  ]
  return xmlElement(
    'edmx:Edmx',
    { Version: '4.0', 'xmlns:edmx': 'http://docs.oasis-open.org/odata/ns/edmx' },
    [
      ...VOCABULARIES.map(toReference),
      xmlElement('edmx:DataServices', {}, [
        xmlElement('Schema', { Namespace: NAMESPACE, xmlns: 'http://docs.oasis-open.org/odata/ns/edm' }, [
          ...entities.map(toEntityType),
          ...complexTypes.map(toComplexType),
          ...functions.map(toFunction),
          xmlElement('EntityContainer', { Name: ENTITY_CONTAINER_NAME }, sets),
        ]),
      ]),
    ],
  )
}

const toReference = ({ alias, namespace }: (typeof VOCABULARIES)[number]) =>
  xmlElement(
    'edmx:Reference',
    { Uri: `https://oasis-tcs.github.io/odata-vocabularies/vocabularies/${namespace}.xml` },
    [xmlElement('edmx:Include', { Namespace: namespace, Alias: alias })],
  )

function toEntityType(of: Entity): XmlElement {
  const key = xmlElement('Key', {}, [xmlElement('PropertyRef', { Name: of.key.name })])
  return xmlElement('EntityType', { Name: of.typeName }, [
    key,
    ...[...of.fields.values()].map(f => toProperty(of, f)),
    ...entityTypeAnnotations(of).map(toAnnotation),
  ])
}

const toComplexType = ({ name, properties, annotations }: ComplexType): XmlElement =>
  xmlElement('ComplexType', { Name: name }, [
    ...properties.map(p => toMember('Property', p)),
    ...annotations.map(toAnnotation),
  ])

/** In the schema of OData 4.0 nothing follows the ReturnType; 4.01 allows any order. */
const toFunction = ({ name, parameters, returnType, annotations }: FunctionType): XmlElement =>
  xmlElement('Function', { Name: name }, [
    ...parameters.map(p => toMember('Parameter', p)),
    ...annotations.map(toAnnotation),
    xmlElement('ReturnType', { Type: toQualifiedName(returnType), Nullable: 'false' }),
  ])

const toFunctionImport = ({ name }: FunctionType): XmlElement =>
  xmlElement('FunctionImport', { Name: name, Function: toQualifiedName(name) })

function toMember(element: 'Property' | 'Parameter', m: CsdlMember): XmlElement {
  const type = typeAttribute(memberTypeName(m, toQualifiedName), m.collection === true)
  return xmlElement(
    element,
    { Name: m.name, Type: type, Nullable: nullable(m.nullable === true) },
    m.annotations.map(toAnnotation),
  )
}

function toProperty(of: Entity, field: Field): XmlElement {
  const annotations = propertyAnnotations(of, field).map(toAnnotation)
  return field.kind === 'scalar'
    ? toStructuralProperty(field, annotations)
    : toNavigationProperty(of, field, annotations)
}

const typeAttribute = (name: string, collection: boolean) => (collection ? `Collection(${name})` : name)
const nullable = (isNullable: boolean) => (isNullable ? undefined : 'false')

const toStructuralProperty = (s: Scalar, annotations: readonly XmlElement[]) =>
  xmlElement(
    'Property',
    {
      Name: s.name,
      Type: typeAttribute(`Edm.${s.type}`, s.collection),
      Nullable: nullable(s.nullable),
      ...facetsOf(s),
    },
    annotations,
  )

function toNavigationProperty(of: Entity, n: Navigation, annotations: readonly XmlElement[]): XmlElement {
  const constraint = referentialConstraintOf(n)
  const type = typeAttribute(toQualifiedName(getEntity(n.target).typeName), n.collection)
  return xmlElement(
    'NavigationProperty',
    {
      Name: n.name,
      Type: type,
      Nullable: nullable(n.collection || isNullableNavigation(of, n)),
      Partner: partnerOf(of, n),
    },
    [
      ...(constraint
        ? [
            xmlElement('ReferentialConstraint', {
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
  xmlElement('EntitySet', { Name: of.name, EntityType: toQualifiedName(of.typeName) }, [
    ...of.navigations.map(n => xmlElement('NavigationPropertyBinding', { Path: n.name, Target: n.target })),
    ...entitySetAnnotations(of).map(toAnnotation),
  ])

const toAnnotation = ([term, value]: Annotation) =>
  toElementWithExpression('Annotation', { Term: term }, value)

/**
 * Renders an element with a value: simple values as an attribute, records and collections as content (CSDL
 * XML 4.01, 14.3 and 14.4).
 */
function toElementWithExpression(
  name: string,
  attributes: Readonly<Record<string, string>>,
  value: AnnotationExpression,
): XmlElement {
  const simple = toAttributeNotation(value)
  return simple
    ? xmlElement(name, { ...attributes, [simple.name]: simple.text })
    : xmlElement(name, attributes, [toElementNotation(value)])
}

function toAttributeNotation(
  value: AnnotationExpression,
): { readonly name: string; readonly text: string } | undefined {
  if (typeof value === 'string') return { name: 'String', text: value }
  if (typeof value === 'boolean') return { name: 'Bool', text: String(value) }
  if (!('kind' in value) || value.kind === 'record') return undefined
  return value.kind === 'member'
    ? { name: 'EnumMember', text: `${value.type}/${value.name}` }
    : { name: 'PropertyPath', text: value.path }
}

function toElementNotation(value: AnnotationExpression): XmlElement {
  const simple = toAttributeNotation(value)
  if (simple) return xmlElement(simple.name, {}, simple.text)
  if (typeof value === 'object' && 'kind' in value && value.kind === 'record')
    return xmlElement(
      'Record',
      {},
      Object.entries(value.values).map(([name, v]) =>
        toElementWithExpression('PropertyValue', { Property: name }, v),
      ),
    )
  return xmlElement('Collection', {}, Array.isArray(value) ? value.map(toElementNotation) : [])
}
