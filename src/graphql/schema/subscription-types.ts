import { getEntity } from '../../model/model.js'
import { filterInputNameOf } from './names.js'
import type { TypeDefinition } from './sdl-text.js'
import { keyFieldOf } from './sdl-types.js'

const PROPERTY = getEntity('Property')

/** The type Subscription of a schema with listings. */
export const SUBSCRIPTION_TYPE: TypeDefinition = {
  head: 'type Subscription',
  description: 'Receives changes as they happen.',
  fields: [
    {
      name: 'propertyChanged',
      type: 'PropertyChange!',
      description: 'Changes of listings, in the order in which they were made.',
      args: [
        {
          name: 'filter',
          type: filterInputNameOf(PROPERTY),
          description:
            'Only listings that match. The first change after which a listing does not match is sent without `property`, since it may have matched before.',
        },
        {
          name: 'where',
          type: 'String',
          description: 'An OData filter as text, with the same effect as `filter`.',
        },
        {
          name: 'since',
          type: 'Long',
          description: 'Starts after the change with this EntityEventSequence, so that none is missed.',
        },
      ],
    },
  ],
}

/** A change that a subscription sends. */
export const PROPERTY_CHANGE_TYPE: TypeDefinition = {
  head: 'type PropertyChange',
  description: 'A change of a listing.',
  fields: [
    {
      name: 'EntityEventSequence',
      type: 'Long!',
      description: 'The number of the change, for `since`.',
    },
    keyFieldOf(PROPERTY),
    {
      name: 'property',
      type: PROPERTY.typeName,
      description:
        'The current listing. Null if it was deleted, is no longer visible, or does not match the filter.',
    },
  ],
}
