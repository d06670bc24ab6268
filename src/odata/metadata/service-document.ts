import { ENTITIES } from '../../model/model.js'
import { context, member, renderObject, text } from '../protocol/json-body.js'
import { chooseDataFormat, chooseMetadataFormat } from '../protocol/negotiate.js'
import { type ODataRequest, wishOf } from '../protocol/request.js'
import { type Answer, jsonAnswer } from '../protocol/response.js'
import { checkOptions } from '../url/options.js'
import { toCsdlJson } from './csdl-json.js'
import { toCsdlXml } from './csdl-xml.js'
import { renderXml } from './xml.js'

/** The service document: what there is to read (OData JSON 4.01, 5). */
export function readService(request: ODataRequest): Answer {
  const format = chooseDataFormat(wishOf(request))
  checkOptions(request.options, 'service')
  const sets = [...ENTITIES.keys()].map(name =>
    renderObject([text('name', name), text('kind', 'EntitySet'), text('url', name)]),
  )
  return jsonAnswer(
    format,
    renderObject([context(format, `${request.root}$metadata`), member('value', `[${sets.join(',')}]`)]),
  )
}

/** The entity model, as XML or JSON (Part 1, 11.1.2). */
export function readMetadata(request: ODataRequest): Answer {
  const format = chooseMetadataFormat(wishOf(request))
  checkOptions(request.options, 'metadata')
  const body = format === 'xml' ? renderMetadataXml() : renderMetadataJson()
  return { status: 200, headers: { 'Content-Type': `application/${format}` }, body }
}

const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** $metadata as CSDL JSON 4.01. It follows from the model alone, so it is written once. */
export const renderMetadataJson: () => string = once(() => JSON.stringify(toCsdlJson()))

/** $metadata as CSDL XML, `Version="4.0"`: the same content as the JSON. */
export const renderMetadataXml: () => string = once(() => renderXml(toCsdlXml()))
