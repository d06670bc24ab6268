import { type EntityModel, LISTING_MODEL } from '../../model/model.js'
import { memoize } from '../../query/memoize.js'
import { contextMember, payloadMember, renderPayloadObject, stringMember } from '../protocol/json-body.js'
import { negotiateJsonFormat, negotiateMetadataFormat } from '../protocol/negotiate.js'
import { type ODataRequest, type ODataService, requestedFormatOf } from '../protocol/request.js'
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
  const sets = [...request.service.model.entities.keys()].map(name =>
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
  const { model } = request.service
  const body = format === 'xml' ? renderMetadataXml(model) : renderMetadataJson(model)
  return { status: 200, headers: { 'Content-Type': `application/${format}` }, body }
}

/** Returns the description in OpenAPI, whose server is the service root that the client called. */
export function getOpenApiDocument(request: ODataRequest): ODataResponse {
  negotiateJsonFormat(requestedFormatOf(request))
  checkAllowedOptions(request.options, 'openapi')
  const { root, service } = request
  const address = JSON.stringify(root.slice(0, -`${service.path}/`.length)).slice(1, -1)
  const body = openApiParts(service).join(address)
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body }
}

const ADDRESS_MARK = 'https://address.invalid'
/** The text of the OpenAPI description between the places of the service's address. It is rendered once. */
const openApiParts = memoize(function openApiParts(service: ODataService): readonly string[] {
  return JSON.stringify(toOpenApi(ADDRESS_MARK, service)).split(ADDRESS_MARK)
})

/** Returns $metadata as CSDL JSON 4.01. It depends on the model alone, so it is rendered once. */
export const renderMetadataJson = (model: EntityModel = LISTING_MODEL): string => renderJson(model)
/** Returns $metadata as CSDL XML, `Version="4.0"`: the same content as the JSON. */
export const renderMetadataXml = (model: EntityModel = LISTING_MODEL): string => renderXmlText(model)

const renderJson = memoize(function renderJson(model: EntityModel) {
  return JSON.stringify(toCsdlJson(model))
})
const renderXmlText = memoize(function renderXmlText(model: EntityModel) {
  return renderXml(toCsdlXml(model))
})
