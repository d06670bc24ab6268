import type { Entity } from '../../model/model.js'
import type { Query } from '../../query/ast.js'
import type { RecordWithCursor, WindowResult, WindowSelection } from '../../service/reading.js'
import { connectionTypeNameOf, edgeTypeNameOf } from '../schema/names.js'
import { type CollectedField, collectFields, getObjectType, type SelectionContext } from './collect-fields.js'
import type { FilterParseOptions } from './filter.js'
import { renderRawList, renderRawObject } from './raw-json.js'
import { readSharedSelection, type SelectionResults } from './shared-selection.js'

/** The parts of a connection that an operation selects. */
export interface ConnectionSelection {
  /** The query for the fields of the nodes. */
  readonly query: Query
  readonly requested: WindowSelection
  readonly includesTotalCount: boolean
  /** Renders the response as JSON. */
  render(found: WindowResult): string
}

interface ConnectionData {
  readonly window: WindowResult
  /** The JSON of each record for each selection, if there are several selections. */
  readonly results: () => readonly SelectionResults[]
}

type ConnectionRenderer = (found: ConnectionData) => string

/**
 * Reads the selection of a connection (Relay Cursor Connections, 2). `nodes` and `edges { node }` can occur
 * several times with different fields. One query reads the fields of all of them. With a single selection the
 * records are returned as PostgreSQL wrote them.
 */
export function readConnectionSelection(
  selectionContext: SelectionContext,
  parseOptions: FilterParseOptions,
  of: Entity,
  fieldNodes: CollectedField['fieldNodes'],
): ConnectionSelection {
  const reader = new ConnectionSelectionReader(selectionContext, of)
  const render = reader.read(fieldNodes)
  const { query, split } = readSharedSelection(selectionContext, parseOptions, of, reader.nodeSelections)
  return {
    query,
    requested: reader.requested,
    includesTotalCount: reader.includesTotalCount,
    render: window =>
      render({
        window,
        results: lazy(function splitRecords() {
          return window.records.list.map(({ json }) => split(json))
        }),
      }),
  }
}

/** Returns a function that computes its value at the first call and caches it. */
function lazy<T>(compute: () => T): () => T {
  let computed: { readonly value: T } | undefined
  return () => {
    computed ??= { value: compute() }
    return computed.value
  }
}

/** Traverses the selection once and collects the node selections and the requested parts. */
class ConnectionSelectionReader {
  readonly nodeSelections: CollectedField['fieldNodes'][] = []
  requested: WindowSelection = { records: false, hasNext: false, hasPrevious: false }
  includesTotalCount = false

  constructor(
    private readonly selectionContext: SelectionContext,
    private readonly of: Entity,
  ) {}

  read(fieldNodes: CollectedField['fieldNodes']): ConnectionRenderer {
    return this.#renderObject(connectionTypeNameOf(this.of), fieldNodes, {
      nodes: collected => this.#renderNodes(collected.fieldNodes),
      edges: collected => this.#renderEdges(collected.fieldNodes),
      pageInfo: collected => this.#renderPageInfo(collected.fieldNodes),
      totalCount: () => {
        this.includesTotalCount = true
        return ({ window }) => String(window.count ?? 0)
      },
    })
  }

  #request(part: Partial<WindowSelection>): void {
    this.requested = { ...this.requested, ...part }
  }

  #renderEdges(fieldNodes: CollectedField['fieldNodes']): ConnectionRenderer {
    this.#request({ records: true })
    const type = edgeTypeNameOf(this.of)
    const members = collectFields(
      this.selectionContext,
      getObjectType(this.selectionContext, type),
      fieldNodes,
    ).map(collected => [collected.responseName, this.#renderEdgeField(collected, type)] as const)
    return data =>
      renderRawList(
        data.window.records.list.map((record, i) =>
          renderRawObject(
            members.map(([key, render]) => [key, render(record, data.results()[i] ?? [], data)]),
          ),
        ),
      )
  }

  #renderEdgeField(
    { name, fieldNodes }: CollectedField,
    type: string,
  ): (record: RecordWithCursor, results: SelectionResults, found: ConnectionData) => string {
    if (name === 'cursor') return (record, _, { window }) => JSON.stringify(window.cursorOf(record))
    if (name === '__typename') return () => JSON.stringify(type)
    const selectionIndex = this.#addNodeSelection(fieldNodes)
    return (_, results) => results[selectionIndex] ?? 'null'
  }

  #renderNodes(fieldNodes: CollectedField['fieldNodes']): ConnectionRenderer {
    this.#request({ records: true })
    const selectionIndex = this.#addNodeSelection(fieldNodes)
    return ({ window, results }) =>
      this.nodeSelections.length > 1
        ? renderRawList(results().map(record => record[selectionIndex] ?? 'null'))
        : `[${window.records.json}]`
  }

  #addNodeSelection(fieldNodes: CollectedField['fieldNodes']): number {
    return this.nodeSelections.push(fieldNodes) - 1
  }

  #renderPageInfo(fieldNodes: CollectedField['fieldNodes']): ConnectionRenderer {
    this.#request({ records: true })
    const cursor =
      (end: 'startPosition' | 'endPosition'): ConnectionRenderer =>
      ({ window }) => {
        const position = window.records[end]
        return position ? JSON.stringify(window.cursorAt(position)) : 'null'
      }
    return this.#renderObject('PageInfo', fieldNodes, {
      startCursor: () => cursor('startPosition'),
      endCursor: () => cursor('endPosition'),
      hasNextPage: () => {
        this.#request({ hasNext: true })
        return ({ window }) => String(window.hasNext)
      },
      hasPreviousPage: () => {
        this.#request({ hasPrevious: true })
        return ({ window }) => String(window.hasPrevious)
      },
    })
  }

  #renderObject(
    type: string,
    fieldNodes: CollectedField['fieldNodes'],
    members: Readonly<Record<string, (collected: CollectedField) => ConnectionRenderer>>,
  ): ConnectionRenderer {
    const renders = collectFields(
      this.selectionContext,
      getObjectType(this.selectionContext, type),
      fieldNodes,
    ).map(
      collected =>
        [
          collected.responseName,
          collected.name === '__typename'
            ? () => JSON.stringify(type)
            : (members[collected.name]?.(collected) ?? (() => 'null')),
        ] as const,
    )
    return data => renderRawObject(renders.map(([key, render]) => [key, render(data)]))
  }
}
