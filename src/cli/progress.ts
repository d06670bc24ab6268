import { Presets, SingleBar } from 'cli-progress'

/** A bar on the screen of whoever waits; nothing where the output goes elsewhere. */
interface Progress {
  advance(to: number): void
  extend(total: number): void
  stop(): void
}

const SILENT: Progress = { advance: () => undefined, extend: () => undefined, stop: () => undefined }

/** Starts a bar on standard error. `format` is that of cli-progress. */
export function startProgress(format: string, total: number): Progress {
  if (!process.stderr.isTTY) return SILENT
  const bar = new SingleBar(
    { format, stream: process.stderr, hideCursor: true, etaBuffer: 50 },
    Presets.shades_classic,
  )
  const started = Date.now()
  bar.start(total, 0, { rate: 0 })
  return {
    advance: to => bar.update(to, { rate: Math.round((to * 1000) / Math.max(1, Date.now() - started)) }),
    extend: more => bar.setTotal(more),
    stop: () => bar.stop(),
  }
}
