import type { ComplexType, CsdlMember, FunctionType } from './csdl-operations.js'
import { toOperation } from './openapi-operations.js'
import { jsonContent } from './openapi-responses.js'
import { type OpenApiObject, toComponentRef, toPrimitiveSchema } from './openapi-schemas.js'

/** Returns complex types as schemas, by name. */
export const toTypeSchemas = (types: readonly ComplexType[]): OpenApiObject =>
  Object.fromEntries(
    types.map(({ name, annotations, properties }) => [
      name,
      {
        type: 'object',
        description: descriptionOf(annotations),
        properties: Object.fromEntries(properties.map(p => [p.name, toMemberSchema(p)])),
      },
    ]),
  )

/** Returns the paths of functions: by GET, and by POST of the options, for those that are too long for a URL. */
export const toFunctionPaths = (functions: readonly FunctionType[]): OpenApiObject =>
  Object.assign({}, ...functions.map(toPathItems))

type Annotations = CsdlMember['annotations']

function descriptionOf(annotations: Annotations): string {
  const [, text] = annotations.find(([term]) => term === 'Core.Description') ?? []
  return typeof text === 'string' ? text : ''
}

function isOptional({ annotations }: CsdlMember): boolean {
  return annotations.some(([term]) => term === 'Core.OptionalParameter')
}

function toMemberSchema({ type, collection, nullable, annotations }: CsdlMember): OpenApiObject {
  const item: OpenApiObject = type.startsWith('Edm.')
    ? toPrimitiveSchema(type.slice('Edm.'.length))
    : toComponentRef('schemas', type)
  const description = descriptionOf(annotations)
  if (collection) return { type: 'array', items: item, description }
  return nullable ? { anyOf: [item, { type: 'null' }], description } : { ...item, description }
}

/** Required parameters are segments of the path. Optional ones are aliases, which are null if they are absent. */
function toPathItems(of: FunctionType): OpenApiObject {
  const required = of.parameters.filter(p => !isOptional(p))
  const optional = of.parameters.filter(isOptional)
  const call = [
    ...required.map(({ name, type }) => `${name}=${type === 'Edm.String' ? `'{${name}}'` : `{${name}}`}`),
    ...optional.map(({ name }) => `${name}=@${name}`),
  ].join(',')
  const description = descriptionOf(of.annotations)
  const responses = { 200: jsonContent('The result.', toComponentRef('schemas', of.returnType)) }
  const parameters = required.map(toPathParameter)
  const get: OpenApiObject = {
    ...toOperation('call', { id: `call${of.name}`, summary: `Call ${of.name}`, description }, responses),
    parameters: optional.map(toQueryParameter),
  }
  const texts = { id: `query${of.name}`, summary: `Call ${of.name} with long parameters`, description }
  const post: OpenApiObject = {
    ...toOperation('query', texts, responses),
    requestBody: {
      required: true,
      description: `The query part of the URL of the other form: ${optional.map(({ name }) => `@${name}=…`).join('&')}.`,
      content: { 'text/plain': { schema: { type: 'string' } } },
    },
  }
  const path = `/${of.name}(${call})`
  return { [path]: { parameters, get }, [`${path}/$query`]: { parameters, post } }
}

function toPathParameter(parameter: CsdlMember): OpenApiObject {
  return {
    name: parameter.name,
    in: 'path',
    required: true,
    description: descriptionOf(parameter.annotations),
    schema: { type: 'string', minLength: 1 },
  }
}

/** Lists are JSON, and texts are literals of OData. */
function toQueryParameter(parameter: CsdlMember): OpenApiObject {
  const description = descriptionOf(parameter.annotations)
  const common = { name: `@${parameter.name}`, in: 'query' }
  if (parameter.collection)
    return { ...common, description, content: { 'application/json': { schema: toMemberSchema(parameter) } } }
  return parameter.type === 'Edm.String'
    ? {
        ...common,
        description: `${description} In single quotes.`,
        schema: { type: 'string', pattern: "^'.*'$" },
      }
    : { ...common, description, schema: toPrimitiveSchema(parameter.type.slice('Edm.'.length)) }
}
