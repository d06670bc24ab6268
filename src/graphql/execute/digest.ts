import { parseExpression } from '../../language/parser.js'
import type { Digest, KeyRange } from '../../service/digest.js'
import type { InputValues } from './collect-fields.js'
import { renderSelection } from './render-selection.js'
import type { RootFieldContext } from './root-field.js'

const NAMES = { resourceName: 'resourceName', ranges: 'ranges', buckets: 'buckets' } as const

/** Resolves `digest` to JSON in the requested shape. */
export async function resolveDigest({
  port,
  context,
  args,
  field,
  collected,
  selectionContext,
}: RootFieldContext): Promise<string> {
  const { where } = args
  // graphql-js has coerced the arguments by the schema.
  const ranges = args['ranges'] as readonly KeyRangeInput[] | null | undefined
  const buckets = args['buckets'] as number | null | undefined
  const digest = await port.digests.forRequest(context.scope).read(
    {
      names: NAMES,
      resourceName: String(args['resourceName']),
      ranges: ranges?.map(({ From, To }): KeyRange => ({ from: From ?? '', to: To ?? undefined })),
      buckets: buckets ?? undefined,
      filter:
        typeof where === 'string'
          ? parseExpression(where, { limits: port.limits, aliases: new Map() }, 'where')
          : undefined,
    },
    context.actor,
  )
  return renderSelection(selectionContext, field.type, collected.fieldNodes, toObject(digest))
}

interface KeyRangeInput {
  readonly From?: string | null
  readonly To?: string | null
}

/** Positions are below 2^53, so that they are exact as numbers. */
const toObject = ({ position, ranges }: Digest): InputValues => ({
  LastEventSequence: Number(position),
  Ranges: ranges.map(({ from, to, buckets }) => ({
    From: from,
    To: to ?? null,
    Buckets: buckets.map(({ first, count, hash }) => ({ First: first, Count: count, Hash: hash })),
  })),
})
