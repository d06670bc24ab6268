import { writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import helper, { type DMMF } from '@prisma/generator-helper'
import type { EdmType } from '../src/model/model.js'
import { type ModelTags, readTags } from './model-tags.js'

/**
 * A Prisma generator that converts schema.prisma to the entity model of the service (src/model/generated.ts), and
 * admin.prisma to that of administration (src/model/generated-admin.ts).
 */

const EDM_TYPES: Readonly<Record<string, EdmType>> = {
  String: 'String', Int: 'Int32', BigInt: 'Int64', Decimal: 'Decimal', DateTime: 'DateTimeOffset', Boolean: 'Boolean',
} // biome-ignore format: table

const TIMESTAMP_PRECISION = 3

function toEdmType(owner: string, field: DMMF.Field, tags: ModelTags): EdmType {
  if (tags.edm) return tags.edm
  if (field.nativeType?.[0] === 'Date') return 'Date'
  return EDM_TYPES[field.type] ?? failGeneration(`${owner}: no Edm type for Prisma type ${field.type}`)
}

function failGeneration(message: string): never {
  throw new Error(message)
}

function toScalar(
  owner: string,
  field: DMMF.Field,
  { tags, description }: ReturnType<typeof readTags>,
): object {
  const type = toEdmType(owner, field, tags)
  return {
    kind: 'scalar',
    name: field.name,
    type,
    collection: field.isList,
    nullable: !field.isRequired && !field.isList,
    description,
    ...(tags.length !== undefined && { maxLength: tags.length }),
    ...(tags.digits && { precision: tags.digits.precision, scale: tags.digits.scale }),
    ...(type === 'DateTimeOffset' && { precision: TIMESTAMP_PRECISION }),
    ...(tags.lookup && { lookup: tags.lookup }),
    setBy: tags.service ? 'service' : 'client',
    required: tags.required === true,
    readableBy: tags.readable ?? 'everyone',
    address: tags.address === true,
    hidden: tags.hidden === true,
    generated: tags.generated === true,
    ...(tags.deprecated !== undefined && { deprecated: tags.deprecated }),
  }
}

/**
 * The side of a relation with the foreign key defines the join. The other side finds it by the relation's
 * name.
 */
function toNavigation(
  owner: string,
  field: DMMF.Field,
  models: readonly DMMF.Model[],
  { tags, description }: ReturnType<typeof readTags>,
): object {
  const holder = field.relationFromFields?.length
    ? field
    : models.find(m => m.name === field.type)?.fields.find(f => f.relationName === field.relationName)
  const [from] = holder?.relationFromFields ?? []
  const [to] = holder?.relationToFields ?? []
  if (from === undefined || to === undefined)
    failGeneration(`${owner}: a relation needs one field on each side`)
  const [local, foreign] = holder === field ? [from, to] : [to, from]
  return {
    kind: 'navigation',
    name: field.name,
    collection: field.isList,
    target: field.type,
    description,
    local,
    foreign,
    relation: true,
    hidden: tags.hidden === true,
  }
}

function toField(model: DMMF.Model, field: DMMF.Field, models: readonly DMMF.Model[]): object {
  const owner = `${model.name}.${field.name}`
  const documented = readTags(owner, field.documentation)
  return field.kind === 'object'
    ? toNavigation(owner, field, models, documented)
    : toScalar(owner, field, documented)
}

function toEntity(model: DMMF.Model, models: readonly DMMF.Model[]): object {
  const { tags, description, references } = readTags(model.name, model.documentation)
  const freeReferences = references.map(({ name, target, local, text }) => ({
    kind: 'navigation', name, collection: false, target, description: text, local, foreign: keyFieldOf(models, target), relation: false, hidden: false,
  })) // biome-ignore format: one row a reference
  return {
    name: model.name,
    typeName: tags.type ?? model.name,
    ...(tags.alias !== undefined && { alias: tags.alias }),
    ...(tags.table && { table: tags.table }),
    description,
    key: keyFieldOf(models, model.name),
    writable: tags.writable === true,
    ...(tags.immutable && { immutable: true }),
    fields: [...model.fields.map(f => toField(model, f, models)), ...freeReferences],
  }
}

/** Returns the key of an entity. Of a table with several rows for each record it is the first key column. */
function keyFieldOf(models: readonly DMMF.Model[], name: string): string {
  const model = models.find(m => m.name === name)
  return (
    model?.fields.find(f => f.isId)?.name ??
    model?.primaryKey?.fields[0] ??
    failGeneration(`${name} is no entity with a key`)
  )
}

const headerOf = (schemaPath: string) => `// Generated from prisma/${basename(schemaPath)}. Do not edit.
import type { RawEntity } from './model.js'

`

helper.generatorHandler({
  onManifest: () => ({ prettyName: 'Entity model', defaultOutput: '../src/model/generated.ts' }),
  onGenerate: async ({ dmmf, generator, schemaPath }) => {
    const { models } = dmmf.datamodel
    const entities = models.map(m => toEntity(m, models))
    const output = generator.output?.value ?? failGeneration('The generator has no output')
    writeFileSync(
      output,
      `${headerOf(schemaPath)}const entities: readonly RawEntity[] = ${JSON.stringify(entities, null, 2)}\n\nexport default { entities }\n`,
    )
  },
})
