import { FEATURES } from '../../errors/features.js'
import { EXPECTED_VALUE, OPTION_CONTEXTS } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import { NAMESPACE } from '../../model/model.js'
import type { ExportService, RecordExport } from '../../service/export.js'
import type { PageRequest, ReadService } from '../../service/reading.js'
import { type CsvOptions, toCsvColumn, toCsvHeader, toCsvRow } from '../protocol/csv.js'
import {
  omitNulls,
  renderPayloadObject,
  toRecordRepresentation,
  toValueRepresentation,
} from '../protocol/json-body.js'
import type { ExportFormat } from '../protocol/negotiate.js'
import { readPreferences, toAppliedHeader } from '../protocol/prefer.js'
import type { ODataRequest } from '../protocol/request.js'
import type { StreamedODataResponse } from '../protocol/response.js'
import { decodeUrlComponent } from '../url/encoding.js'
import type { CollectionPath } from '../url/resource-path.js'

/** Header with the position in the log before the first record was read. */
const POSITION_HEADER = 'Last-Event-Sequence'
/** Member of the closing line with the position in the log after the last record was read. */
const POSITION_MEMBER = `@${NAMESPACE}.LastEventSequence`

export interface ExportServices {
  readonly reading: ReadService
  readonly exports: ExportService
}

/** Returns a whole entity set, or all related records, in one response without pages. */
export async function exportCollection(
  request: ODataRequest,
  path: CollectionPath,
  { reading, exports }: ExportServices,
  { query, pageToken }: Omit<PageRequest, 'representation'>,
  format: ExportFormat,
): Promise<StreamedODataResponse> {
  checkExportOptions(request, pageToken)
  const csvOptions = readCsvOptions(request.rawQuery)
  if (format.kind === 'csv' && query.expand?.length)
    fail({ kind: 'NotImplemented', feature: FEATURES.expandInCsv, at: { source: '$expand' } })
  const representation =
    format.kind === 'csv'
      ? toValueRepresentation({ ieee754Compatible: true })
      : toRecordRepresentation(format.json, request)
  const within = await reading.resolvePath(path.navigationPath, request.actor)
  const exported = await exports.open(
    path.entity,
    { query, representation, serviceRoot: () => request.root },
    request.actor,
    within,
  )
  const omission = format.kind === 'ndjson' ? readPreferences(request.headers.prefer).omitNulls : undefined
  const headers = { [POSITION_HEADER]: exported.position, ...toAppliedHeader(omission?.applied) }
  return format.kind === 'ndjson'
    ? {
        status: 200,
        headers: { 'Content-Type': format.json.contentType, ...headers },
        chunks: toJsonLines(exported, exports, omission !== undefined),
      }
    : {
        status: 200,
        headers: {
          'Content-Type': format.contentType,
          'Content-Disposition': `attachment; filename="${path.entity.name}.csv"`,
          ...headers,
        },
        chunks: toCsv(exported, csvOptions),
      }
}

/** Refuses the options that only pages have. */
function checkExportOptions({ options: { values } }: ODataRequest, pageToken: string | undefined): void {
  if (pageToken !== undefined)
    fail({ kind: 'OptionNotAllowed', option: '$skiptoken', context: OPTION_CONTEXTS.export })
  if (values.get('$count') === 'true')
    fail({ kind: 'OptionNotAllowed', option: '$count', context: OPTION_CONTEXTS.export })
}

/** Reads the custom options of CSV: `defuse` (default true) and `bom` (default false). */
function readCsvOptions(rawQuery: string): CsvOptions {
  const values = new Map<string, string>()
  for (const [option, value] of rawQuery.split('&').map(splitPair)) {
    if (values.has(option) && CSV_OPTIONS.includes(option)) fail({ kind: 'DuplicateOption', option })
    values.set(option, value)
  }
  const readBoolean = (option: string, byDefault: boolean): boolean => {
    const value = values.get(option)
    if (value === undefined) return byDefault
    return value === 'true' || value === 'false'
      ? value === 'true'
      : fail({ kind: 'BadOptionValue', option, expected: EXPECTED_VALUE.boolean, found: value })
  }
  return { defuse: readBoolean('defuse', true), byteOrderMark: readBoolean('bom', false) }
}

const CSV_OPTIONS: readonly string[] = ['defuse', 'bom']

function splitPair(pair: string): readonly [string, string] {
  const [name = '', value = ''] = pair.split(/=(.*)/s)
  return [decodeUrlComponent(name), decodeUrlComponent(value)]
}

/**
 * One record per line, then a line with control information only, which shows that the export is whole.
 * PostgreSQL inserts line feeds between expanded records. Inside strings they are escaped.
 */
async function* toJsonLines(
  { chunks }: RecordExport,
  exports: ExportService,
  omitsNulls: boolean,
): AsyncGenerator<string> {
  let count = 0
  for await (const { list } of chunks) {
    count += list.length
    const lines = `${list.map(({ json }) => json.replaceAll('\n', '')).join('\n')}\n`
    yield omitsNulls ? omitNulls(lines) : lines
  }
  const position = await exports.latestSequence()
  const closing = renderPayloadObject([`"@odata.count":${count}`, `"${POSITION_MEMBER}":${position}`])
  yield `${closing}\n`
}

async function* toCsv({ columns, chunks }: RecordExport, options: CsvOptions): AsyncGenerator<string> {
  const csvColumns = columns.map(toCsvColumn)
  yield toCsvHeader(csvColumns, options)
  for await (const { list } of chunks)
    yield list.map(({ json }) => toCsvRow(json, csvColumns, options)).join('')
}
