declare const phrase: unique symbol

/**
 * Words of a message. Only the tables of this folder create phrases, so no message has words that are written
 * elsewhere: the compiler refuses a string where a `Problem` requires a phrase.
 */
export type Phrase = string & { readonly [phrase]: true }

type PhraseTable = Readonly<Record<string, string | ((...args: never[]) => string)>>

/** A table whose texts, and the results of whose functions, are phrases. */
type Phrases<T extends PhraseTable> = {
  readonly [K in keyof T]: T[K] extends (...args: infer A) => string ? (...args: A) => Phrase : Phrase
}

export const definePhrases = <const T extends PhraseTable>(table: T): Phrases<T> =>
  table as unknown as Phrases<T>
