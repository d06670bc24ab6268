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

type Json = string | number | boolean | readonly Json[] | { readonly [member: string]: Json }

/** The entity model as a document of CSDL JSON 4.01. */
export function toCsdlJson(): Json {
  const entities = [...ENTITIES.values()]
  return {
    $Version: '4.01',
    $EntityContainer: qualify(CONTAINER),
    $Reference: Object.fromEntries(VOCABULARIES.map(toReference)),
    [NAMESPACE]: {
      ...Object.fromEntries(entities.map(e => [e.typeName, toEntityType(e)])),
      [CONTAINER]: {
        $Kind: 'EntityContainer',
        ...Object.fromEntries(entities.map(e => [e.name, toEntitySet(e)])),
        ...toMembers(OF_SERVICE),
      },
    },
  }
}

const toReference = ({ alias, namespace }: (typeof VOCABULARIES)[number]): readonly [string, Json] => [
  `https://oasis-tcs.github.io/odata-vocabularies/vocabularies/${namespace}.json`,
  { $Include: [{ $Namespace: namespace, $Alias: alias }] },
]

function toEntityType(of: Entity): Json {
  const fields = [...of.fields.values()].map(f => [
    f.name,
    { ...toProperty(of, f), ...toMembers(ofField(of, f)) },
  ])
  return { $Kind: 'EntityType', $Key: [of.key.name], ...Object.fromEntries(fields), ...toMembers(ofType(of)) }
}

const toProperty = (of: Entity, field: Field) =>
  field.kind === 'scalar' ? toScalar(field) : toNavigation(of, field)

/** Without `$Type` a property is an Edm.String, without `$Nullable` it is never null (CSDL JSON 4.01, 7). */
function toScalar(s: Scalar): Readonly<Record<string, Json>> {
  return {
    ...(s.type !== 'String' && { $Type: `Edm.${s.type}` }),
    ...(s.collection && { $Collection: true }),
    ...(s.nullable && { $Nullable: true }),
    ...Object.fromEntries(Object.entries(facetsOf(s)).map(([name, value]) => [`$${name}`, value])),
  }
}

function toNavigation(of: Entity, n: Navigation): Readonly<Record<string, Json>> {
  const partner = partnerOf(of, n)
  const constraint = constraintOf(n)
  return {
    $Kind: 'NavigationProperty',
    $Type: qualify(entity(n.target).typeName),
    ...(n.collection && { $Collection: true }),
    ...(!n.collection && isOptional(of, n) && { $Nullable: true }),
    ...(partner !== undefined && { $Partner: partner }),
    ...(constraint && { $ReferentialConstraint: { [constraint.local]: constraint.foreign } }),
  }
}

function toEntitySet(of: Entity): Json {
  return {
    $Collection: true,
    $Type: qualify(of.typeName),
    ...(of.navigations.length > 0 && {
      $NavigationPropertyBinding: Object.fromEntries(of.navigations.map(n => [n.name, n.target])),
    }),
    ...toMembers(ofSet(of)),
  }
}

const toMembers = (annotations: readonly Annotation[]): Readonly<Record<string, Json>> =>
  Object.fromEntries(annotations.map(([term, value]) => [`@${term}`, toJson(value)]))

function toJson(value: Value): Json {
  if (typeof value !== 'object') return value
  if (!('kind' in value)) return value.map(toJson)
  if (value.kind === 'record')
    return Object.fromEntries(Object.entries(value.values).map(([name, v]) => [name, toJson(v)]))
  return value.kind === 'member' ? value.name : value.to
}
