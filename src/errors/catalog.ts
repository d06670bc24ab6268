import type { Problem, ProblemKind, ProblemOf, SourceLocation, Wait } from './problem.js'

export interface CatalogEntry<K extends ProblemKind> {
  /** HTTP status. */
  readonly status: number
  /** Error code of the service. A code is stable and is never reused for another error. */
  readonly code: string
  /** One English sentence for a person. */
  readonly message: (problem: ProblemOf<K>) => string
  /** The field, option or header at fault. */
  readonly target?: (problem: ProblemOf<K>) => string | undefined
  /** A fault of a write. It is reported as a detail of error 1111. */
  readonly detail?: true
}

const source = (p: { readonly at: SourceLocation }) => p.at.source
const field = (p: { readonly field: string }) => p.field
const option = (p: { readonly option: string }) => p.option

const positionText = (at: SourceLocation) =>
  at.offset === undefined ? '' : ` (at position ${at.offset + 1} of ${at.source})`
const didYouMean = (p: { readonly suggestion?: string }) =>
  p.suggestion === undefined ? '' : ` Did you mean '${p.suggestion}'?`
const hint = (p: { readonly hint?: string }) => (p.hint === undefined ? '' : ` ${p.hint}`)
const transitionText = ({ from, to, allowed }: ProblemOf<'TransitionNotAllowed'>) => {
  const statuses = allowed.map(status => `'${status}'`).join(', ')
  if (from === undefined)
    return `A new record must have the StandardStatus ${statuses}, or none, not '${to}'.`
  const options = allowed.length === 0 ? 'It is final' : `It can change to ${statuses}`
  return `StandardStatus cannot change from '${from}' to '${to}'. ${options}.`
}
/** Truncates text of the client, so that it cannot inflate the response. */
const truncate = (text: string) => (text.length > 80 ? `${text.slice(0, 77)}...` : text)

const UNAVAILABLE = {
  database: 'The database cannot be reached. Try again shortly.',
  busy: 'The service is busy. Try again shortly.',
  timeout: 'The request took too long and was canceled. Narrow it and try again.',
  keys: 'The keys that verify tokens cannot be retrieved. Try again shortly.',
  clients: 'The registered clients cannot be read. Try again shortly.',
  canceled: 'The request was canceled because its client closed the connection.',
} as const

/** Messages that name the wait. */
const WAITED: Readonly<Record<Wait, string>> = {
  connection:
    'The service is busy: the request waited too long for a database connection. Try again shortly.',
  lock: 'The service is busy: the request waited too long for a lock of another transaction. Try again shortly.',
  statement: 'The request was canceled because its statement ran too long. Narrow it and try again.',
  transaction: 'The request was canceled because its transaction took too long. Narrow it and try again.',
}

/**
 * Status, code and message of every problem, for both adapters. The decisions on errors define codes and
 * statuses. OData JSON 4.01, 21.1 defines the form of the body.
 */
// biome-ignore format: table
export const CATALOG: { readonly [K in ProblemKind]: CatalogEntry<K> } = {
  Syntax:               { status: 400, code: '2001', target: source, message: p => `Expected ${p.expected} but found ${truncate(p.found)}${positionText(p.at)}.${hint(p)}` },
  UnknownField:         { status: 400, code: '2002', target: field,  message: p => `${p.entity} has no field '${truncate(p.field)}'${positionText(p.at)}.${didYouMean(p)}` },
  UnknownFunction:      { status: 400, code: '2003', target: source, message: p => `There is no function '${truncate(p.name)}'${positionText(p.at)}.${didYouMean(p)}` },
  NoOverload:           { status: 400, code: '2004', target: source, message: p => `'${p.name}' does not accept (${p.args.join(', ')})${positionText(p.at)}. It accepts ${p.expected.join(' or ')}.${hint(p)}` },
  WrongType:            { status: 400, code: '2005', target: source, message: p => `Expected ${p.expected}, not ${p.found}${positionText(p.at)}.` },
  BadLiteral:           { status: 400, code: '2006', target: source, message: p => `'${truncate(p.text)}' is not a valid value of type ${p.type}${positionText(p.at)}.${hint(p)}` },
  DivisionByZero:       { status: 400, code: '2007', target: source, message: p => `Division by zero${positionText(p.at)}.` },
  UnknownOption:        { status: 400, code: '2008', target: option, message: p => `There is no query option '${truncate(p.option)}'.${didYouMean(p)}` },
  DuplicateOption:      { status: 400, code: '2009', target: option, message: p => `The query option '${truncate(p.option)}' is specified more than once.` },
  OptionNotAllowed:     { status: 400, code: '2010', target: option, message: p => `The query option '${p.option}' cannot be used for ${p.context}.` },
  BadOptionValue:       { status: 400, code: '2011', target: option, message: p => `${p.option} must be ${p.expected}${p.found === '' ? '' : `, not '${truncate(p.found)}'`}.` },
  DuplicateItem:        { status: 400, code: '2012', target: source, message: p => `'${truncate(p.item)}' is specified more than once${positionText(p.at)}.` },
  NotSortable:          { status: 400, code: '2013', target: field,  message: p => `Records cannot be sorted by '${p.field}'${positionText(p.at)}.` },
  NotReadable:          { status: 400, code: '2014', target: field,  message: p => `'${p.field}' can be written but not read${positionText(p.at)}.` },
  UndefinedAlias:       { status: 400, code: '2015', target: source, message: p => `The value of the parameter alias '@${truncate(p.alias)}' refers to itself${positionText(p.at)}.` },
  BadPageToken:         { status: 400, code: '2016', target: option, message: () => 'The page token is invalid or belongs to another query. Start again with the first page, without a token.' },
  SkipTooLarge:         { status: 400, code: '2017', target: option, message: p => `${p.option} is limited to ${p.limit} records. To read further, follow @odata.nextLink, or use a cursor in GraphQL.` },
  QueryTooComplex:      { status: 400, code: '2018', target: source, message: p => `The query has too many ${p.what}${positionText(p.at)}. The limit is ${p.limit}.` },
  BadEncoding:          { status: 400, code: '2019', message: p => `The URL is not correctly percent-encoded at '${truncate(p.found)}'.` },
  BadKey:               { status: 400, code: '2020', message: p => `'${truncate(p.found)}' is not a valid key of ${p.entity}.` },
  BadHeader:            { status: 400, code: '2021', target: p => p.header, message: p => `The header ${p.header} must be ${p.expected}, not '${truncate(p.found)}'.` },
  NameTaken:            { status: 400, code: '2022', target: source, message: p => `'${truncate(p.name)}' is already the name of a field or of another computed value${positionText(p.at)}.` },
  LinkTooLong:          { status: 400, code: '2023', message: p => `The link to the next page would be longer than ${p.limit} characters. Shorten the query or request larger pages.` },
  NotImplemented:       { status: 501, code: '2101', target: p => p.at?.source, message: p => `The service does not implement ${p.feature}${p.at ? positionText(p.at) : ''}.` },

  MalformedBody:        { status: 400, code: '2001', message: p => `The request body must be a valid JSON object: ${p.reason}.` },
  RequiredMissing:      { status: 400, code: '1101', detail: true, target: field, message: p => `${p.field} is required and cannot be empty.` },
  UnknownBodyField:     { status: 400, code: '1102', detail: true, target: field, message: p => `${p.entity} has no field '${truncate(p.field)}'.${didYouMean(p)}` },
  BadValue:             { status: 400, code: '1103', detail: true, target: field, message: p => `${p.field} must be ${p.expected}, not ${truncate(p.found)}.` },
  OutOfRange:           { status: 400, code: '1104', detail: true, target: field, message: p => `${p.field} must ${p.limit}.` },
  NotInLookup:          { status: 400, code: '1105', detail: true, target: field, message: p => `'${truncate(p.value)}' is not a valid value for ${p.field}. The entity set Lookup lists the valid values.` },
  NotWritable:          { status: 400, code: '1106', detail: true, target: field, message: p => `${truncate(p.field)} cannot be written.` },
  NoSuchReference:      { status: 400, code: '1107', detail: true, target: field, message: p => `${p.field}: no ${p.target} has the key '${truncate(p.value)}'.` },
  TransitionNotAllowed: { status: 400, code: '1108', detail: true, target: () => 'StandardStatus', message: transitionText },
  ValueRefused:         { status: 400, code: '1103', detail: true, target: field, message: p => p.reason },

  TokenMissing:         { status: 401, code: '3001', message: () => 'The request has no bearer token. Send one as Authorization: Bearer TOKEN.' },
  TokenRefused:         { status: 401, code: '3002', message: p => `The token was rejected: ${p.reason}.` },
  ScopeMissing:         { status: 403, code: '3003', message: p => `The token does not have the scope ${p.scope}.` },
  NotYours:             { status: 403, code: '3003', message: p => `The token cannot write this ${p.entity}: the listing belongs to another agent and office.` },
  NotAssignable:        { status: 403, code: '3003', target: p => p.field, message: p => `The token cannot set ${p.field} to this value. ListAgentKey can be the member of the token or a member of its office. ListOfficeKey can be any member, the office of the agent, or the office of the token.` },
  NotFound:             { status: 404, code: '4004', message: p => `There is no ${truncate(p.what)}.${didYouMean(p)}` },
  MethodNotAllowed:     { status: 405, code: '4005', message: p => `${p.method} is not allowed here. Allowed: ${p.allow.join(', ')}.` },
  NotAcceptable:        { status: 406, code: '4006', target: p => p.wish, message: p => `The response is available only as ${p.offered}.` },
  Conflict:             { status: 409, code: '4009', message: () => 'Another request changed the same data at the same time. Try again.' },
  ChangeRefused:        { status: 409, code: '4009', message: p => p.reason },
  PositionGone:         { status: 410, code: '4010', target: option, message: () => 'The change log no longer contains the changes after this position, or it is the log of another database. Copy all data again.' },
  PreconditionFailed:   { status: 412, code: '4012', target: p => p.header, message: p => `The version of the record does not satisfy ${p.header}. The record may have changed since it was read: read it again.` },
  IsolationNotOffered:  { status: 412, code: '4012', target: () => 'Isolation', message: p => `The isolation level '${truncate(p.found)}' is not supported. Omit the header Isolation.` },
  BodyTooLarge:         { status: 413, code: '4013', message: p => `The request body is larger than ${p.limit} bytes.` },
  UrlTooLong:           { status: 414, code: '4014', message: p => `The URL is longer than ${p.limit} characters.` },
  UnsupportedMediaType: { status: 415, code: '4015', target: () => 'Content-Type', message: p => `The request body must be ${p.expected}.` },
  DependencyFailed:     { status: 424, code: '4024', message: () => 'Not executed, or rolled back, because another request of the batch failed.' },
  TooManyRequests:      { status: 429, code: '4029', message: p => `${p.reason ?? 'Too many requests'}. Try again in ${p.retryAfter} s.` },
  HeadersTooLarge:      { status: 431, code: '4031', message: () => 'The URL and the headers of the request are too large together.' },
  BadRequest:           { status: 400, code: '2001', message: p => `The request cannot be read: ${p.reason}.` },
  ImpossibleValue:      { status: 400, code: '2001', message: () => 'A value of the request cannot be stored or compared: it is too large, or contains a character that is not allowed, such as NUL.' },

  Unavailable:          { status: 503, code: '5003', message: p => (p.wait === undefined ? UNAVAILABLE[p.reason] : WAITED[p.wait]) },
  Internal:             { status: 500, code: '5000', message: p => `An internal error occurred. Report its id to the operator of the service: ${p.id}.` },
}

/** A problem with the texts of the catalog, as both adapters send it. */
export interface Failure {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly target?: string
  readonly details: readonly FailureDetail[]
}
export interface FailureDetail {
  readonly code: string
  readonly message: string
  readonly target?: string
}

const NOT_SAVED = {
  status: 400,
  code: '1111',
  message: 'The record was not saved because of bad data.',
} as const

/** Merges the problems of one refused request into one failure. Faults of a write become its details. */
export function toFailure(problems: readonly [Problem, ...Problem[]]): Failure {
  const entry = CATALOG[problems[0].kind]
  if (entry.detail) return { ...NOT_SAVED, details: problems.map(toDetail) }
  const { code, message, target } = toDetail(problems[0])
  return {
    status: entry.status,
    code,
    message,
    ...(target !== undefined && { target }),
    details: problems.slice(1).map(toDetail),
  }
}

function toDetail<K extends ProblemKind>(problem: ProblemOf<K> & { kind: K }): FailureDetail {
  const entry: CatalogEntry<K> = CATALOG[problem.kind]
  const target = entry.target?.(problem)
  return { code: entry.code, message: entry.message(problem), ...(target !== undefined && { target }) }
}
