const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const
type StopSignal = (typeof STOP_SIGNALS)[number]

/** Signals that are repeated within this time come from one Ctrl-C: npm passes on what the terminal has sent too. */
const REPEAT_INTERVAL_MS = 1000
const PARENT_CHECK_INTERVAL_MS = 500

/**
 * Calls `stop` at the first SIGINT or SIGTERM. The same signal a second later ends the process at once. Another
 * signal does not, since the processes of a group get SIGINT from a terminal and SIGTERM from the first of them.
 */
export function onStopSignal(stop: (signal: StopSignal) => void): void {
  let isStopping = false
  for (const signal of STOP_SIGNALS) {
    let firstAt: number | undefined
    const handle = () => {
      if (firstAt !== undefined && performance.now() - firstAt > REPEAT_INTERVAL_MS) {
        process.off(signal, handle)
        process.kill(process.pid, signal)
      }
      firstAt ??= performance.now()
      if (isStopping) return
      isStopping = true
      stop(signal)
    }
    process.on(signal, handle)
  }
}

/**
 * Calls `stop` when the parent of the process has ended. The shell that npm starts ends at a signal and passes
 * none on: without this a program would keep running, and hold its port.
 */
export function onParentExit(stop: () => void): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    stop()
  }, PARENT_CHECK_INTERVAL_MS)
  timer.unref()
}

/** True if npm runs the program as this script. */
export const isStartedByNpm = (script: string): boolean => process.env['npm_lifecycle_event'] === script
