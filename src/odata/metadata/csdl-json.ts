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

type CsdlJson = string | number | boolean | readonly CsdlJson[] | { readonly [member: string]: CsdlJson }

/** Renders the entity model as CSDL JSON 4.01. */
export function toCsdlJson(model: EntityModel = LISTING_MODEL): CsdlJson {
  const entities = [...model.entities.values()]
  const { complexTypes, functions } = operationsOf(model)
  return {
    $Version: '4.01',
    $EntityContainer: toQualifiedName(ENTITY_CONTAINER_NAME),
    $Reference: Object.fromEntries(VOCABULARIES.map(toReference)),
    [NAMESPACE]: {
      ...Object.fromEntries(entities.map(e => [e.typeName, toEntityType(e)])),
      ...Object.fromEntries(complexTypes.map(c => [c.name, toComplexType(c)])),
      ...Object.fromEntries(functions.map(f => [f.name, [toFunction(f)]])),
      [ENTITY_CONTAINER_NAME]: {
        $Kind: 'EntityContainer',
        ...Object.fromEntries(entities.map(e => [e.name, toEntitySet(e)])),
        ...Object.fromEntries(functions.map(f => [f.name, { $Function: toQualifiedName(f.name) }])),
        ...toAnnotationMembers(ENTITY_CONTAINER_ANNOTATIONS),
      },
    },
  }
}

const toReference = ({ alias, namespace }: (typeof VOCABULARIES)[number]): readonly [string, CsdlJson] => [
  `https://oasis-tcs.github.io/odata-vocabularies/vocabularies/${namespace}.json`,
  { $Include: [{ $Namespace: namespace, $Alias: alias }] },
]

function toEntityType(of: Entity): CsdlJson {
  const fields = [...of.fields.values()].map(f => [
    f.name,
    { ...toProperty(of, f), ...toAnnotationMembers(propertyAnnotations(of, f)) },
  ])
  return {
    $Kind: 'EntityType',
    $Key: [of.key.name],
    ...Object.fromEntries(fields),
    ...toAnnotationMembers(entityTypeAnnotations(of)),
  }
}

const toComplexType = ({ properties, annotations }: ComplexType): CsdlJson => ({
  $Kind: 'ComplexType',
  ...Object.fromEntries(properties.map(p => [p.name, toMember(p)])),
  ...toAnnotationMembers(annotations),
})

const toFunction = ({ parameters, returnType, annotations }: FunctionType): CsdlJson => ({
  $Kind: 'Function',
  $Parameter: parameters.map(p => ({ $Name: p.name, ...toMember(p) })),
  $ReturnType: { $Type: toQualifiedName(returnType) },
  ...toAnnotationMembers(annotations),
})

const toMember = (m: CsdlMember): Readonly<Record<string, CsdlJson>> => ({
  ...(m.type !== 'Edm.String' && { $Type: memberTypeName(m, toQualifiedName) }),
  ...(m.collection && { $Collection: true }),
  ...(m.nullable && { $Nullable: true }),
  ...toAnnotationMembers(m.annotations),
})

const toProperty = (of: Entity, field: Field) =>
  field.kind === 'scalar' ? toStructuralProperty(field) : toNavigationProperty(of, field)

/**
 * Without `$Type` a property is an Edm.String, and without `$Nullable` it is not nullable (CSDL JSON 4.01,
 * 7).
 */
function toStructuralProperty(s: Scalar): Readonly<Record<string, CsdlJson>> {
  return {
    ...(s.type !== 'String' && { $Type: `Edm.${s.type}` }),
    ...(s.collection && { $Collection: true }),
    ...(s.nullable && { $Nullable: true }),
    ...Object.fromEntries(Object.entries(facetsOf(s)).map(([name, value]) => [`$${name}`, value])),
  }
}

function toNavigationProperty(of: Entity, n: Navigation): Readonly<Record<string, CsdlJson>> {
  const partner = partnerOf(of, n)
  const constraint = referentialConstraintOf(n)
  return {
    $Kind: 'NavigationProperty',
    $Type: toQualifiedName(getEntity(n.target).typeName),
    ...(n.collection && { $Collection: true }),
    ...(!n.collection && isNullableNavigation(of, n) && { $Nullable: true }),
    ...(partner !== undefined && { $Partner: partner }),
    ...(constraint && { $ReferentialConstraint: { [constraint.local]: constraint.foreign } }),
  }
}

function toEntitySet(of: Entity): CsdlJson {
  return {
    $Collection: true,
    $Type: toQualifiedName(of.typeName),
    ...(of.navigations.length > 0 && {
      $NavigationPropertyBinding: Object.fromEntries(of.navigations.map(n => [n.name, n.target])),
    }),
    ...toAnnotationMembers(entitySetAnnotations(of)),
  }
}

const toAnnotationMembers = (annotations: readonly Annotation[]): Readonly<Record<string, CsdlJson>> =>
  Object.fromEntries(annotations.map(([term, value]) => [`@${term}`, toExpressionJson(value)]))

function toExpressionJson(value: AnnotationExpression): CsdlJson {
  if (typeof value !== 'object') return value
  if (!('kind' in value)) return value.map(toExpressionJson)
  if (value.kind === 'record')
    return Object.fromEntries(Object.entries(value.values).map(([name, v]) => [name, toExpressionJson(v)]))
  return value.kind === 'member' ? value.name : value.path
}
