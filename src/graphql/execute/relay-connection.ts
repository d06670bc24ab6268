import type { Entity } from '../../model/model.js'
import type { Query } from '../../query/ast.js'
import type { Placed, WindowFound, WindowWanted } from '../../service/reading.js'
import { connectionOf, edgeOf } from '../schema/names.js'
import { type Asked, type Operation, objectType, readFields } from './operation.js'
import type { FilterReader } from './query-arguments.js'
import { renderList, renderObject } from './raw-json.js'
import { readPlaces, type Shown } from './shared-selection.js'

/** The parts of a connection that an operation asks for. */
export interface ConnectionSelection {
  /** What is read of each record. */
  readonly query: Query
  readonly wanted: WindowWanted
  readonly isCounted: boolean
  /** The answer, as JSON. */
  render(found: WindowFound): string
}

interface Found {
  readonly window: WindowFound
  /** The JSON of each record, where they are told apart. */
  readonly shown: () => readonly Shown[]
}

type Render = (found: Found) => string

/**
 * Reads the selection of a connection (Relay Cursor Connections, 2). `nodes` and `edges { node }` may stand
 * there more than once and ask for different fields: one reading serves them all. Where there is one such
 * place, its records go out as PostgreSQL has written them.
 */
export function readConnection(
  operation: Operation,
  filters: FilterReader,
  of: Entity,
  nodes: Asked['nodes'],
): ConnectionSelection {
  const reader = new ConnectionReader(operation, of)
  const render = reader.connection(nodes)
  const { query, show } = readPlaces(operation, filters, of, reader.places)
  return {
    query,
    wanted: reader.wanted,
    isCounted: reader.isCounted,
    render: window =>
      render({ window, shown: once(() => window.records.list.map(({ json }) => show(json))) }),
  }
}

/** What is made when it is asked for, and then kept. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** Walks the selection once, and keeps what has to be read for it. */
class ConnectionReader {
  readonly places: Asked['nodes'][] = []
  wanted: WindowWanted = { records: false, hasNext: false, hasPrevious: false }
  isCounted = false

  constructor(
    private readonly operation: Operation,
    private readonly of: Entity,
  ) {}

  connection(nodes: Asked['nodes']): Render {
    return this.#object(connectionOf(this.of), nodes, {
      nodes: asked => this.#records(asked.nodes),
      edges: asked => this.#edges(asked.nodes),
      pageInfo: asked => this.#pageInfo(asked.nodes),
      totalCount: () => {
        this.isCounted = true
        return ({ window }) => String(window.count ?? 0)
      },
    })
  }

  #want(part: Partial<WindowWanted>): void {
    this.wanted = { ...this.wanted, ...part }
  }

  #edges(nodes: Asked['nodes']): Render {
    this.#want({ records: true })
    const type = edgeOf(this.of)
    const members = readFields(this.operation, objectType(this.operation, type), nodes).map(
      asked => [asked.key, this.#edgeMember(asked, type)] as const,
    )
    return found =>
      renderList(
        found.window.records.list.map((record, i) =>
          renderObject(members.map(([key, render]) => [key, render(record, found.shown()[i] ?? [], found)])),
        ),
      )
  }

  #edgeMember({ name, nodes }: Asked, type: string): (record: Placed, shown: Shown, found: Found) => string {
    if (name === 'cursor') return (record, _, { window }) => JSON.stringify(window.cursorOf(record))
    if (name === '__typename') return () => JSON.stringify(type)
    const place = this.#place(nodes)
    return (_, shown) => shown[place] ?? 'null'
  }

  #records(nodes: Asked['nodes']): Render {
    this.#want({ records: true })
    const place = this.#place(nodes)
    return ({ window, shown }) =>
      this.places.length > 1
        ? renderList(shown().map(record => record[place] ?? 'null'))
        : `[${window.records.json}]`
  }

  #place(nodes: Asked['nodes']): number {
    return this.places.push(nodes) - 1
  }

  #pageInfo(nodes: Asked['nodes']): Render {
    this.#want({ records: true })
    const cursor =
      (end: 'start' | 'end'): Render =>
      ({ window }) => {
        const place = window.records[end]
        return place ? JSON.stringify(window.cursorAt(place)) : 'null'
      }
    return this.#object('PageInfo', nodes, {
      startCursor: () => cursor('start'),
      endCursor: () => cursor('end'),
      hasNextPage: () => {
        this.#want({ hasNext: true })
        return ({ window }) => String(window.hasNext)
      },
      hasPreviousPage: () => {
        this.#want({ hasPrevious: true })
        return ({ window }) => String(window.hasPrevious)
      },
    })
  }

  #object(
    type: string,
    nodes: Asked['nodes'],
    members: Readonly<Record<string, (asked: Asked) => Render>>,
  ): Render {
    const renders = readFields(this.operation, objectType(this.operation, type), nodes).map(
      asked =>
        [
          asked.key,
          asked.name === '__typename'
            ? () => JSON.stringify(type)
            : (members[asked.name]?.(asked) ?? (() => 'null')),
        ] as const,
    )
    return found => renderObject(renders.map(([key, render]) => [key, render(found)]))
  }
}
