import { ENTITIES } from '../model/model.js'
import { type Answer, jsonAnswer } from './answer.js'
import { renderMetadataJson, renderMetadataXml } from './metadata.js'
import { chooseDataFormat, chooseMetadataFormat } from './negotiate.js'
import { checkOptions } from './options.js'
import { context, member, renderObject, text } from './render.js'
import { type ODataRequest, wishOf } from './request.js'

/** The service document: what there is to read (OData JSON 4.01, 5). */
export function readService(request: ODataRequest): Answer {
  const format = chooseDataFormat(wishOf(request))
  checkOptions(request.options, 'service')
  const sets = [...ENTITIES.keys()].map(name => renderObject([text('name', name), text('kind', 'EntitySet'), text('url', name)]))
  return jsonAnswer(format, renderObject([context(format, `${request.root}$metadata`), member('value', `[${sets.join(',')}]`)]))
}

/** The entity model, as XML or JSON (Part 1, 11.1.2). */
export function readMetadata(request: ODataRequest): Answer {
  const format = chooseMetadataFormat(wishOf(request))
  checkOptions(request.options, 'metadata')
  const body = format === 'xml' ? renderMetadataXml() : renderMetadataJson()
  return { status: 200, headers: { 'Content-Type': `application/${format}` }, body }
}
