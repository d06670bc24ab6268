import { Presets, SingleBar } from 'cli-progress'

/** A bar on the screen of whoever waits; nothing where the output goes elsewhere. */
interface ProgressBar {
  update(value: number): void
  setTotal(total: number): void
  stop(): void
}

const SILENT_PROGRESS_BAR: ProgressBar = {
  update: () => undefined,
  setTotal: () => undefined,
  stop: () => undefined,
}

/** Starts a bar on standard error. `format` is that of cli-progress. */
export function startProgressBar(format: string, total: number): ProgressBar {
  if (!process.stderr.isTTY) return SILENT_PROGRESS_BAR
  const bar = new SingleBar(
    { format, stream: process.stderr, hideCursor: true, etaBuffer: 50 },
    Presets.shades_classic,
  )
  const startTime = Date.now()
  bar.start(total, 0, { rate: 0 })
  return {
    update: value =>
      bar.update(value, { rate: Math.round((value * 1000) / Math.max(1, Date.now() - startTime)) }),
    setTotal: newTotal => bar.setTotal(newTotal),
    stop: () => bar.stop(),
  }
}
