import { SETTINGS } from '../config/settings.js'
import { renderLifecycle } from '../domain/lifecycle.js'
import { renderErrorTable } from '../errors/table.js'
import { createSchemaModel } from '../graphql/schema/schema-model.js'
import { renderSdl } from '../graphql/schema/sdl.js'
import { ADMIN_MODEL, LISTING_MODEL } from '../model/model.js'
import { toOpenApi } from '../odata/metadata/openapi.js'
import { renderMetadataJson, renderMetadataXml } from '../odata/metadata/service-document.js'

const toIndentedJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/**
 * Renders the files of schema/, by name: the contract of the service with its clients. They are generated
 * from the tables in the code.
 */
export function renderSchemaFiles(): ReadonlyMap<string, string> {
  return new Map([
    ['metadata.xml', renderMetadataXml()],
    ['metadata.json', toIndentedJson(JSON.parse(renderMetadataJson()))],
    ['openapi.json', toIndentedJson(toOpenApi())],
    ['listing.graphql', renderSdl(createSchemaModel(LISTING_MODEL))],
    ['admin.graphql', renderSdl(createSchemaModel(ADMIN_MODEL))],
    ['errors.md', renderErrorTable()],
    ['lifecycle.mmd', renderLifecycle()],
  ])
}

const SETTINGS_TABLE_HEADER = '| Setting | Default | |\n|---|---|---|'
const SETTINGS_SECTION = /(?<=<!-- settings -->\n).*(?=<!-- \/settings -->)/s

/** Returns the README with the current table of settings between its markers. */
export function withSettingsTable(readme: string): string {
  const rows = Object.values(SETTINGS).map(
    ({ name, defaultText, about }) => `| \`${name}\` | ${defaultText} | ${about} |`,
  )
  return readme.replace(SETTINGS_SECTION, `${[SETTINGS_TABLE_HEADER, ...rows].join('\n')}\n`)
}
