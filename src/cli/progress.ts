import { Presets, SingleBar } from 'cli-progress'

/** Shows the progress of a command. */
interface ProgressBar {
  update(value: number): void
  /** Restarts at zero, for the next step of the command. */
  restart(step: string): void
  stop(): void
}

export interface ProgressOptions {
  /** Current step of the command. */
  readonly step: string
  readonly total: number
  /** Unit that is counted. */
  readonly unit: string
}

/** Starts a progress bar on standard error, or prints lines if it is not a terminal. */
export const startProgressBar = (options: ProgressOptions): ProgressBar =>
  process.stderr.isTTY ? startTerminalBar(options) : startProgressLines(options)

function startTerminalBar({ step, total, unit }: ProgressOptions): ProgressBar {
  const format = `{step} {bar} {percentage}% | {value} of {total} ${unit} | {rate}/s | {eta_formatted} left`
  const bar = new SingleBar(
    { format, stream: process.stderr, hideCursor: true, etaBuffer: 50 },
    Presets.shades_classic,
  )
  let startTime = Date.now()
  bar.start(total, 0, { step, rate: 0 })
  return {
    update: value =>
      bar.update(value, { rate: Math.round((value * 1000) / Math.max(1, Date.now() - startTime)) }),
    restart: nextStep => {
      bar.stop()
      startTime = Date.now()
      bar.start(total, 0, { step: nextStep, rate: 0 })
    },
    stop: () => bar.stop(),
  }
}

/** Interval between lines in a file or the log of a scheduler. Shorter commands print none. */
const LINE_INTERVAL_MS = 10_000

/** `Adding: 12000 of 100000 listings (12 %), 800 a second, 110 s left` */
function startProgressLines({ step: firstStep, total, unit }: ProgressOptions): ProgressBar {
  let [step, startTime, lastLine] = [firstStep, Date.now(), Date.now()]
  return {
    update: value => {
      const now = Date.now()
      if (now - lastLine < LINE_INTERVAL_MS) return
      lastLine = now
      const perSecond = (value * 1000) / (now - startTime)
      const percent = Math.floor((value * 100) / Math.max(1, total))
      const left = Math.ceil((total - value) / Math.max(1, perSecond))
      process.stderr.write(
        `${step}: ${value} of ${total} ${unit} (${percent} %), ${Math.round(perSecond)} a second, ${left} s left\n`,
      )
    },
    restart: nextStep => {
      step = nextStep
      startTime = Date.now()
    },
    stop: () => undefined,
  }
}
