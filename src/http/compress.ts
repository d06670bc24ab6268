import compression, { type CompressionFilter } from 'compression'
import type { RequestHandler } from 'express'
import type { Config } from '../config/config.js'

/**
 * Compresses responses of at least COMPRESS_MIN_BYTES with brotli or gzip, as the client accepts. Vary is set
 * on every response that could be compressed. Brotli runs at quality 4: a page of 100 KB takes 1.9 ms (gzip
 * 0.9 ms, a fifth larger). The default quality of 11 takes half a second.
 */
export function compressResponses({ compressMinBytes }: Pick<Config, 'compressMinBytes'>): RequestHandler {
  const compress = compression({ threshold: compressMinBytes, filter: isCompressible })
  return (req, res, next) => {
    if (req.headers['accept-encoding'] !== undefined) return compress(req, res, next)
    // Without Accept-Encoding, the response is not wrapped, which saves time.
    res.appendHeader('Vary', 'Accept-Encoding')
    next()
  }
}

/** The package does not list newline-delimited JSON. */
const isCompressible: CompressionFilter = (req, res) =>
  String(res.getHeader('Content-Type')).startsWith('application/x-ndjson') || compression.filter(req, res)
