import { ENTITIES } from '../../model/model.js'
import { contextMember, payloadMember, renderPayloadObject, stringMember } from '../protocol/json-body.js'
import { negotiateJsonFormat, negotiateMetadataFormat } from '../protocol/negotiate.js'
import { ODATA_PATH, type ODataRequest, requestedFormatOf } from '../protocol/request.js'
import { jsonResponse, type ODataResponse } from '../protocol/response.js'
import { checkAllowedOptions } from '../url/query-options.js'
import { toCsdlJson } from './csdl-json.js'
import { toCsdlXml } from './csdl-xml.js'
import { toOpenApi } from './openapi.js'
import { renderXml } from './xml.js'

/** Returns the service document (OData JSON 4.01, 5). */
export function getServiceDocument(request: ODataRequest): ODataResponse {
  const format = negotiateJsonFormat(requestedFormatOf(request))
  checkAllowedOptions(request.options, 'service')
  const sets = [...ENTITIES.keys()].map(name =>
    renderPayloadObject([
      stringMember('name', name),
      stringMember('kind', 'EntitySet'),
      stringMember('url', name),
    ]),
  )
  return jsonResponse(
    format,
    renderPayloadObject([
      contextMember(format, `${request.root}$metadata`),
      payloadMember('value', `[${sets.join(',')}]`),
    ]),
  )
}

/** Returns the entity model as XML or JSON (Part 1, 11.1.2). */
export function getMetadataDocument(request: ODataRequest): ODataResponse {
  const format = negotiateMetadataFormat(requestedFormatOf(request))
  checkAllowedOptions(request.options, 'metadata')
  const body = format === 'xml' ? renderMetadataXml() : renderMetadataJson()
  return { status: 200, headers: { 'Content-Type': `application/${format}` }, body }
}

/** Returns the description in OpenAPI, whose server is the service root that the client called. */
export function getOpenApiDocument(request: ODataRequest): ODataResponse {
  negotiateJsonFormat(requestedFormatOf(request))
  checkAllowedOptions(request.options, 'openapi')
  const address = JSON.stringify(request.root.slice(0, -`${ODATA_PATH}/`.length)).slice(1, -1)
  const body = openApiParts().join(address)
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body }
}

const lazy = <T>(compute: () => T): (() => T) => {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: compute() }
    return made.value
  }
}

const ADDRESS_MARK = 'https://address.invalid'
/** The text of the OpenAPI description between the places of the service's address. It is rendered once. */
const openApiParts = lazy(function openApiParts() {
  return JSON.stringify(toOpenApi(ADDRESS_MARK)).split(ADDRESS_MARK)
})

/** $metadata as CSDL JSON 4.01. It depends on the model alone, so it is rendered once. */
export const renderMetadataJson: () => string = lazy(function renderMetadataJson() {
  return JSON.stringify(toCsdlJson())
})

/** $metadata as CSDL XML, `Version="4.0"`: the same content as the JSON. */
export const renderMetadataXml: () => string = lazy(function renderMetadataXml() {
  return renderXml(toCsdlXml())
})
