/** The introduction of the OpenAPI document, in Markdown. docs/api.md has the details. */
export const introduction = `
With this API you manage organizations, their projects and people, and the batch exports that
deliver events to your warehouse. Every path ends with a slash. Bodies and answers are JSON in
UTF-8.

The examples are real requests and answers of a test server. Long lists in them are shortened.

## Authentication

Send a personal API key with every request:

\`\`\`sh
curl $SLUICE/api/organizations/ \\
  -H "Authorization: Bearer $KEY"
\`\`\`

Create a key in the console under *Account*, or with \`sluice key create\`. A key has scopes such
as \`batch_export:read\`; \`x:write\` includes \`x:read\`, and \`*\` is all. Each operation names
the scope that it needs. A key can never do more than its owner. In paths, \`@current\` stands for
your oldest organization or project, and \`@me\` for you.

## Errors

Every error is \`application/problem+json\`. \`errors\` lists every violation; the first one is
repeated at the top. \`attr\` names the field, nested names joined by \`__\`:

\`\`\`json
{
  "type": "validation_error",
  "code": "blank",
  "detail": "This field may not be blank.",
  "attr": "name",
  "status": 400,
  "title": "Bad Request",
  "request_id": "...",
  "errors": [{ "attr": "name", "code": "blank", "detail": "This field may not be blank." }]
}
\`\`\`

An object that you may not see answers 404, as one that does not exist. 500 and 503 are faults of
the server: send the request again after the seconds in \`Retry-After\`.

## Pagination

Lists take \`limit\` (default 100, at most 1000) and \`offset\`, and answer \`count\`, \`next\`,
\`previous\` and \`results\`. Follow \`next\` until it is null. Lists that grow while you read,
such as runs, take \`cursor\` and \`ordering\` instead and have no \`count\`.

## Idempotency

Send \`Idempotency-Key\` with a POST. If you send the same key and body again within 24 hours,
Sluice answers what it answered the first time and changes nothing. Another body under the same
key is 422. If the first request is still running, the answer is 409.

## ETags

Each answer to a GET has an \`ETag\`. Send it back as \`If-None-Match\` and the answer is 304
while nothing changed; a 304 does not count against the rate limit. Send it as \`If-Match\` with
PATCH, PUT or DELETE, and the answer is 412 if somebody else changed the record first.

## Rate limits

A key may send 480 requests a minute and 4800 an hour, unless the operator chose other limits.
\`RateLimit\` says how many are left. Over the limit the answer is 429, and \`Retry-After\` says
when to come back.

## Check first

Add \`?validate_only=true\` to a POST, PUT, PATCH or DELETE. Sluice makes every check, answers
what it would answer, and changes nothing.
`.trim();

/** The introduction of the document for SDKs and agents. */
export const introduction_apart = `
The paths to which SDKs and agents speak in their own protocols. You need this page only if you
write a client yourself: to send events, use an SDK, or the operation that takes events in the
API.

Events from SDKs carry a write key of the project, which can do nothing else. 200 means that every
event is stored and survives a crash, except those that were refused.
`.trim();
