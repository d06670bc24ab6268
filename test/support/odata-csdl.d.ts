declare module 'odata-csdl' {
  /** CSDL XML to CSDL JSON. `strict` refuses what is not well formed. */
  export function xml2json(
    xml: string,
    options?: { readonly strict?: boolean; readonly lineNumbers?: boolean },
  ): Readonly<Record<string, unknown>>
}
