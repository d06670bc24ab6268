import { makeExecutableSchema } from '@graphql-tools/schema'
import type { GraphQLSchema } from 'graphql'
import { SCALARS } from './scalars.js'

/** The schema that documents are read by, of its text. Its scalars read and write their values; no field has a resolver. */
export const createSchema = (sdl: string): GraphQLSchema => makeExecutableSchema({ typeDefs: sdl, resolvers: { ...SCALARS } })
