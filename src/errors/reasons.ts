import { definePhrases } from './phrase.js'

/**
 * Reasons of the problems BadRequest, MalformedBody and TokenRefused. The catalog puts them after
 * "The request cannot be read:", "The request body must be a valid JSON object:" and "The token was rejected:".
 */
export const REASONS = definePhrases({
  bodyEmpty: 'it is empty',
  bodyIncomplete: 'the body is incomplete',
  bodyNotObject: 'it is a JSON value of another type',
  bodyNotUtf8: 'it is not UTF-8',

  jsonTextAfterValue: 'unexpected text after the value',
  jsonTooManyValues: (limit: number) => `there are more than ${limit} values`,
  jsonTooDeep: (limit: number) => `nesting is deeper than ${limit} levels`,
  jsonTooManyMembers: (limit: number) => `an object has more than ${limit} members`,
  jsonNoValue: 'expected a value',
  jsonNoText: (text: string) => `expected ${text}`,
  jsonNoString: 'expected a string in double quotes',
  jsonDuplicateMember: 'a member name is specified more than once',
  jsonInvalidString: 'a string contains a control character or an invalid escape',
  jsonAt: (reason: string, position: number) => `${reason} (at position ${position})`,

  connectNotSupported: 'CONNECT is not supported',
  requestTimeout: 'it did not arrive in time',
  notHttp: 'it is not a valid HTTP request',
  notWebSocket: (message: string) => `it is not a valid WebSocket handshake: ${message}`,
  tooComplexForDatabase: 'it is too complex for the database',

  noQuery: "it has no 'query'",
  operationNameNotString: "'operationName' is not a string",
  variablesNotObject: "'variables' is not an object",
  emptySubscription: 'the subscription selects no field',
  subscriptionNeedsStream: 'a subscription requires a WebSocket or an event stream',
  tooManySocketOperations: (limit: number) =>
    `a connection is limited to ${limit} operations at the same time`,

  notAlias: (name: string) => `'${name}' is not a parameter alias`,
  unnamedOption: 'the query string has an option without a name',
  notOption: (name: string) => `'${name}' is not a query option; inside a value, write & as %26`,
  recordHasNoRawValue: (entity: string) => `a record of ${entity} has no raw value`,
  collectionHasNoRawValue: (name: string) => `${name} is a collection, which has no raw value`,

  batchInBatch: 'a batch cannot contain another batch',
  batchTooLarge: (limit: number, count: number) =>
    `a batch is limited to ${limit} requests, but this one has ${count}`,
  batchNotObject: "a batch must be an object with an array 'requests'",
  batchRequestNotObject: 'each request of a batch must be an object',
  batchMethodInvalid: (id: string) => `'method' of request '${id}' is not supported in a batch`,
  batchMemberEmpty: (name: string) => `'${name}' of a request must be a non-empty string`,
  batchDependenciesInvalid: (id: string) => `'dependsOn' of request '${id}' must be an array of strings`,
  batchHeadersNotObject: (id: string) => `'headers' of request '${id}' must be an object`,
  batchHeaderNotString: (id: string) => `'headers' of request '${id}' must contain only strings`,
  batchHeaderRepeated: (id: string, name: string) =>
    `'headers' of request '${id}' specifies '${name}' more than once`,
  batchBodyNotString: 'its body must be a string',
  batchGroupSplit: (group: string) =>
    `the requests of group '${group}' are not consecutive, or the name is already in use`,
  batchIdRepeated: (id: string) => `the id '${id}' is specified more than once`,
  batchDependencyUnknown: (id: string, name: string) =>
    `request '${id}' depends on '${name}', which is not an earlier request or group`,
  batchGroupOnlyWrites: 'a group of a batch may contain only writes',
  batchReferenceUnknown: (name: string) => `its URL refers to '${name}', which is not an earlier request`,
  batchETagUnknown: (name: string) =>
    `its condition refers to '${name}', which is not an earlier request with an ETag`,

  mimeNoBoundary: 'the multipart body has no boundary',
  mimeTooManyParts: (limit: number) => `it has more than ${limit} parts`,
  mimeNoParts: 'no part begins with the boundary',
  mimeIncomplete: 'the last part is incomplete',
  mimeTooManyHeaders: (limit: number) => `a part has more than ${limit} header lines`,
  mimeNotHeader: 'a header line is malformed',
  mimeContentIdRepeated: 'a Content-ID is specified more than once in a change set',
  mimePartType: 'a part must be application/http or, outside a change set, multipart/mixed',
  mimePartEncoding: 'the Content-Transfer-Encoding of a part must be binary',
  mimeNoRequestLine: 'a request does not begin with a method and a URL',

  severalAuthorizationHeaders: 'the request has more than one Authorization header',
  severalAuthorizationMembers: 'the payload of connection_init has more than one authorization member',
  tokenMalformed: 'it is malformed',
  tokenExtension: 'it requires an unknown extension',
  tokenAlgorithm: 'its algorithm is not allowed',
  tokenKeyUnknown: 'it was signed with an unknown key',
  tokenWithoutClaims: 'it has no claims',
  tokenWithoutExpiry: 'its claim exp is missing',
  tokenExpiryTooFar: (days: number) => `it expires more than ${days} days from now`,
  tokenClaimNotString: (claim: string) => `its claim ${claim} is not a string`,
  tokenAudienceClass: 'its claim audience_class is unknown',
  tokenClaimRejected: (claim: string) => `its claim ${claim} is not accepted`,
  tokenExpired: 'it has expired',
  tokenNotYetValid: 'it is not valid yet',
  tokenRevoked: 'it was revoked',
  tokenTypeNotAccess: 'it is not an access token',
  clientNotActive: 'its client is disabled, removed or expired',
  clientChanged: 'the rights of its client have changed',
  clientFeedUnknown: 'its feed is unknown or cannot be used',
  credentialsMalformed: 'the credentials are malformed',
  credentialsWrong: 'the client id or the secret is wrong',
  tokenSignature: 'its signature is invalid',
})
