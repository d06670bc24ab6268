/**
 * A node of the memo trie: the cached result for the arguments so far, and the children by next argument.
 */
interface MemoNode<R> {
  cached?: { readonly value: R }
  children?: WeakMap<object, MemoNode<R>>
}

/**
 * Caches the results of a pure function by the identity of its arguments, for as long as those live. Queries
 * and plans are immutable and requests share parts of them, so each part is computed once. The returned
 * function has the name of `compute`.
 */
export function memoize<A extends readonly object[], R>(compute: (...args: A) => R): (...args: A) => R {
  const root: MemoNode<R> = {}
  const memoized = (...args: A): R => {
    let node = root
    for (const object of args) node = childNode(node, object)
    node.cached ??= { value: compute(...args) }
    return node.cached.value
  }
  return Object.defineProperty(memoized, 'name', { value: compute.name })
}

function childNode<R>(parent: MemoNode<R>, object: object): MemoNode<R> {
  parent.children ??= new WeakMap()
  const existing = parent.children.get(object)
  if (existing) return existing
  const node: MemoNode<R> = {}
  parent.children.set(object, node)
  return node
}

let lastObjectId = 0
/** The id of an object, unique within the process, for use in the keys of caches. */
export const objectId = memoize(function objectId(_of: object) {
  return ++lastObjectId
})

/** A map or an LRU cache with text keys. */
interface KeyedStore<V> {
  get(name: string): V | undefined
  set(name: string, value: V): unknown
}

/** Returns the value stored under a key, or creates and stores it. */
export function getOrCreate<V>(store: KeyedStore<NoInfer<V>>, key: string, create: () => V): V {
  const existing = store.get(key)
  if (existing !== undefined) return existing
  const value = create()
  store.set(key, value)
  return value
}
