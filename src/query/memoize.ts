/** What was made of the objects that led here, and where further ones lead. */
interface Place<R> {
  made?: { readonly value: R }
  next?: WeakMap<object, Place<R>>
}

/**
 * The same function, which remembers what it made of the same objects for as long as those live. Queries and
 * plans never change, and requests share many parts of them: what is made of such a part is made once. It
 * must depend on nothing but the arguments, which are told apart by identity.
 */
export function remember<A extends readonly object[], R>(make: (...of: A) => R): (...of: A) => R {
  const start: Place<R> = {}
  return (...of) => {
    let place = start
    for (const object of of) place = follow(place, object)
    place.made ??= { value: make(...of) }
    return place.made.value
  }
}

function follow<R>(from: Place<R>, object: object): Place<R> {
  from.next ??= new WeakMap()
  const known = from.next.get(object)
  if (known) return known
  const place: Place<R> = {}
  from.next.set(object, place)
  return place
}

let numbered = 0
/** A number for an object, by which texts can name it: its own as long as it lives. */
export const numberOf = remember((_of: object) => ++numbered)

/** A store by names, with or without bounds. */
interface Store<V> {
  get(name: string): V | undefined
  set(name: string, value: V): unknown
}

/** What is kept under a name; made and kept where there is nothing yet. */
export function recall<V>(kept: Store<NoInfer<V>>, name: string, make: () => V): V {
  const known = kept.get(name)
  if (known !== undefined) return known
  const made = make()
  kept.set(name, made)
  return made
}
