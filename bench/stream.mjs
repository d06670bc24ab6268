import { get } from 'node:http'

const LINE_FEED = 10

/**
 * Reads a response of any length with one record per line, and calls `onPart` for each part that arrives.
 * Resolves at its end, or when `isOver` is true after a part; the rest is not read.
 */
export function readStream({ base, headers }, { path, headers: own }, isOver, onPart) {
  return new Promise((resolve, reject) => {
    let partAt = performance.now()
    const request = get(new URL(path, base), { headers: { ...headers, ...own }, agent: false }, response => {
      if (response.statusCode !== 200) return reject(new Error(`status ${response.statusCode} to ${path}`))
      response.on('data', part => {
        let records = 0
        for (let at = part.indexOf(LINE_FEED); at >= 0; at = part.indexOf(LINE_FEED, at + 1)) records++
        onPart({ ms: performance.now() - partAt, bytes: part.length, records })
        partAt = performance.now()
        if (!isOver()) return
        request.destroy()
        resolve()
      })
      response.on('end', resolve)
    })
    request.on('error', reject)
  })
}
