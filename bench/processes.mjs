import { readdirSync, readFileSync } from 'node:fs'

// Reads CPU and memory of a process and its children from /proc (Linux).

function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // The process has ended.
    return ''
  }
}

const numbersIn = folder => readdirSync(folder).filter(name => /^\d+$/.test(name))

/** Returns a process and its descendants. */
function treeOf(pid) {
  const parents = numbersIn('/proc').map(id => [
    Number(id),
    Number(/^\d+ \(.*\) \S (\d+)/s.exec(read(`/proc/${id}/stat`))?.[1]),
  ])
  const tree = [pid]
  for (const member of tree) tree.push(...parents.filter(([, parent]) => parent === member).map(([id]) => id))
  return tree
}

/** Returns the CPU time of all threads of a process in ms. */
function cpuOf(pid) {
  try {
    return (
      numbersIn(`/proc/${pid}/task`).reduce(
        (sum, thread) => sum + Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]),
        0,
      ) / 1e6
    )
  } catch {
    return 0
  }
}

/**
 * Starts to measure the CPU time of a process tree. The returned function returns the time since then,
 * without processes that have ended.
 */
export function startCpuClock(pid) {
  const before = new Map(treeOf(pid).map(id => [id, cpuOf(id)]))
  return () => treeOf(pid).reduce((sum, id) => sum + Math.max(0, cpuOf(id) - (before.get(id) ?? 0)), 0)
}

/** Returns memory in megabytes, with shared pages divided among their processes. */
export function memoryOf(pid) {
  const kilobytes = treeOf(pid).map(id =>
    Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${id}/smaps_rollup`))?.[1] ?? 0),
  )
  return kilobytes.reduce((a, b) => a + b) / 1024
}
