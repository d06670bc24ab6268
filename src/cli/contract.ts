import { SETTINGS } from '../config/settings.js'
import { renderLifecycle } from '../domain/lifecycle.js'
import { renderErrorTable } from '../errors/table.js'
import { renderSdl } from '../graphql/schema/sdl.js'
import { toOpenApi } from '../odata/metadata/openapi.js'
import { renderMetadataJson, renderMetadataXml } from '../odata/metadata/service-document.js'

const indent = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/**
 * What the service promises to its clients: the files of schema/, by name. All of it follows from the tables
 * of the code.
 */
export function renderContract(): ReadonlyMap<string, string> {
  return new Map([
    ['metadata.xml', renderMetadataXml()],
    ['metadata.json', indent(JSON.parse(renderMetadataJson()))],
    ['openapi.json', indent(toOpenApi())],
    ['listing.graphql', renderSdl()],
    ['errors.md', renderErrorTable()],
    ['lifecycle.mmd', renderLifecycle()],
  ])
}

const SETTINGS_HEAD = '| Setting | Default | |\n|---|---|---|'
const SECTION = /(?<=<!-- settings -->\n).*(?=<!-- \/settings -->)/s

/** The README with the table of settings as the code has them, between its two marks. */
export function withSettings(readme: string): string {
  const rows = Object.values(SETTINGS).map(
    ({ name, shown, about }) => `| \`${name}\` | ${shown} | ${about} |`,
  )
  return readme.replace(SECTION, `${[SETTINGS_HEAD, ...rows].join('\n')}\n`)
}
