/** What was made of the objects that led here, and where further ones lead. */
interface MemoNode<R> {
  cached?: { readonly value: R }
  children?: WeakMap<object, MemoNode<R>>
}

/**
 * The same function, which remembers what it made of the same objects for as long as those live. Queries and
 * plans never change, and requests share many parts of them: what is made of such a part is made once. It
 * must depend on nothing but the arguments, which are told apart by identity.
 */
export function memoize<A extends readonly object[], R>(compute: (...args: A) => R): (...args: A) => R {
  const root: MemoNode<R> = {}
  return (...args) => {
    let node = root
    for (const object of args) node = childNode(node, object)
    node.cached ??= { value: compute(...args) }
    return node.cached.value
  }
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
/** A number for an object, by which texts can name it: its own as long as it lives. */
export const objectId = memoize((_of: object) => ++lastObjectId)

/** A store by names, with or without bounds. */
interface KeyedStore<V> {
  get(name: string): V | undefined
  set(name: string, value: V): unknown
}

/** What is kept under a name; made and kept where there is nothing yet. */
export function getOrCreate<V>(store: KeyedStore<NoInfer<V>>, key: string, create: () => V): V {
  const existing = store.get(key)
  if (existing !== undefined) return existing
  const value = create()
  store.set(key, value)
  return value
}
