const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const
type StopSignal = (typeof STOP_SIGNALS)[number]

/**
 * Interval in which a repeated signal counts as the same Ctrl-C. npm forwards signals that the terminal has
 * already sent.
 */
const REPEAT_INTERVAL_MS = 1000
const PARENT_CHECK_INTERVAL_MS = 500

/**
 * Calls `stop` at the first SIGINT or SIGTERM. The same signal a second later ends the process immediately. The
 * other signal does not, because a terminal sends SIGINT to the whole process group, and the supervisor then
 * sends SIGTERM.
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
 * Calls `stop` when the parent of the process has ended. The shell that npm starts ends at a signal and does
 * not forward it. The program would otherwise keep running and hold its port.
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
