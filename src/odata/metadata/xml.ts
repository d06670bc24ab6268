/** An XML element with text or elements as its content. */
export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string | number | undefined>>
  readonly content: string | readonly XmlElement[]
}

/** Undefined attributes are omitted. */
export const xmlElement = (
  name: string,
  attributes: XmlElement['attributes'],
  content: XmlElement['content'] = [],
): XmlElement => ({ name, attributes, content })

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'

/** Renders a document with one element per line. Names are not escaped, all text is. */
export const renderXml = (root: XmlElement): string => `${DECLARATION}\n${renderElement(root, '')}\n`

function renderElement({ name, attributes, content }: XmlElement, indent: string): string {
  const present = Object.entries(attributes).filter(([, value]) => value !== undefined)
  const start = `${indent}<${name}${present.map(([key, value]) => ` ${key}="${escapeXml(String(value))}"`).join('')}`
  if (content.length === 0) return `${start}/>`
  if (typeof content === 'string') return `${start}>${escapeXml(content)}</${name}>`
  return `${start}>\n${content.map(child => renderElement(child, `${indent}  `)).join('\n')}\n${indent}</${name}>`
}

/**
 * White space other than a space becomes a character reference, since readers would normalize it to a space
 * (XML 1.0, 3.3.3).
 */
const escapeXml = (text: string) => text.replace(/[&<>"\t\n\r]/g, c => `&#${c.charCodeAt(0)};`)
