import type { Entity, EntityModel } from '../../model/model.js'
import { type FilterInput, filterInputsOf } from './filter-inputs.js'
import { type MutationField, mutationFieldsOf } from './mutation-fields.js'
import { type RootField, rootFieldsOf } from './names.js'

/** The parts of a schema that are derived from a model. Each endpoint has one. */
export interface SchemaModel {
  /** Entities in the order of the model. */
  readonly entities: readonly Entity[]
  /** The fields of Query for entities, by name. */
  readonly rootFields: ReadonlyMap<string, RootField>
  /** Entities by the names of their object types. */
  readonly entityOfType: ReadonlyMap<string, Entity>
  /** The fields of Mutation by name. */
  readonly mutations: ReadonlyMap<string, MutationField>
  readonly filterInputs: ReadonlyMap<string, FilterInput>
}

export function createSchemaModel(model: EntityModel): SchemaModel {
  const entities = [...model.entities.values()]
  return {
    entities,
    rootFields: rootFieldsOf(entities),
    entityOfType: new Map(entities.map(e => [e.typeName, e])),
    mutations: mutationFieldsOf(entities),
    filterInputs: filterInputsOf(entities),
  }
}
