import { DirectiveLocation, GraphQLDirective, GraphQLEnumType, GraphQLSchema, isEnumType } from 'graphql'

/**
 * Locations that graphql-js defines and the GraphQL specification of September 2025 (3.13) does not. Clients
 * that check the locations, such as graphql-core 3.2 of Python, reject a schema with one of them.
 */
const UNSPECIFIED_LOCATIONS: ReadonlySet<string> = new Set([DirectiveLocation.DIRECTIVE_DEFINITION])

const isSpecified = (location: string): boolean => !UNSPECIFIED_LOCATIONS.has(location)

/** Returns the schema whose introspection lists only the specified locations of directives. */
export function withSpecifiedLocations(schema: GraphQLSchema): GraphQLSchema {
  const { directives, ...config } = schema.toConfig()
  const specified = new GraphQLSchema({ ...config, directives: directives.map(toSpecifiedDirective) })
  const types = specified.getTypeMap()
  const locations = types['__DirectiveLocation']
  if (isEnumType(locations)) types[locations.name] = toSpecifiedEnum(locations)
  return specified
}

function toSpecifiedDirective(directive: GraphQLDirective): GraphQLDirective {
  const config = directive.toConfig()
  return new GraphQLDirective({ ...config, locations: config.locations.filter(isSpecified) })
}

function toSpecifiedEnum(type: GraphQLEnumType): GraphQLEnumType {
  const config = type.toConfig()
  const values = Object.fromEntries(Object.entries(config.values).filter(([name]) => isSpecified(name)))
  return new GraphQLEnumType({ ...config, values })
}
