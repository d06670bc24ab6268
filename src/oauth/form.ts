import type { Request } from 'express'
import { readBody } from '../http/body.js'
import { OAuthError } from './oauth-error.js'

const MAX_FORM_BYTES = 65_536

/** The parameters of a request. An empty parameter counts as absent (RFC 6749, 3.2). */
export type FormParameters = ReadonlyMap<string, readonly string[]>

/**
 * Reads the body of a request to an endpoint.
 * @throws OAuthError for another media type and for a repeated parameter other than `resource` (RFC 8707, 2)
 */
export async function readForm(req: Request): Promise<FormParameters> {
  const [mediaType] = (req.headers['content-type'] ?? '').split(';')
  if (mediaType?.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw new OAuthError('invalid_request', 'The body must be application/x-www-form-urlencoded.')
  const text = (await readBody(req, MAX_FORM_BYTES)).toString('utf8')
  const form = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(text)) {
    if (value === '') continue
    const values = form.get(name) ?? []
    if (values.length > 0 && name !== 'resource')
      throw new OAuthError('invalid_request', 'A parameter is specified more than once.')
    form.set(name, [...values, value])
  }
  return form
}

export const parameterOf = (form: FormParameters, name: string): string | undefined => form.get(name)?.[0]
