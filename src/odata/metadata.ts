import { toCsdlJson } from './csdl-json.js'
import { toCsdlXml } from './csdl-xml.js'
import { renderXml } from './xml.js'

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
