import { Type } from 'typebox';
import { Problem } from '../../platform/http/responses.ts';
import { text } from '../../platform/http/schemas.ts';

const id = [Type.String(), Type.Number()];

const Message = Type.Object(
  {
    jsonrpc: Type.Literal('2.0'),
    id: Type.Optional(
      Type.Union(id, { description: 'Chosen by the client; none for a notification.' }),
    ),
    method: text('For example `initialize`, `tools/list`, `tools/call`.'),
    params: Type.Optional(Type.Object({}, { additionalProperties: true })),
  },
  {
    title: 'McpMessage',
    description: 'One message of the Model Context Protocol (JSON-RPC 2.0).',
  },
);

const Answer = Type.Object(
  {
    jsonrpc: Type.Literal('2.0'),
    id: Type.Optional(
      Type.Union([...id, Type.Null()], { description: 'The id of the request, or null.' }),
    ),
    result: Type.Optional(Type.Object({}, { additionalProperties: true })),
    error: Type.Optional(
      Type.Object({
        code: Type.Integer(),
        message: Type.String(),
        data: Type.Optional(Type.Unknown()),
      }),
    ),
  },
  { title: 'McpAnswer', description: 'The result, or an error of the protocol.' },
);

const json = { 'application/json': { schema: Answer } };
const problem = { 'application/problem+json': { schema: Problem } };
const refused = (description: string) => ({ description, content: problem });

/** The description of `/mcp` in the OpenAPI document. */
export const mcp_schema = {
  operationId: 'mcp_create',
  tags: ['mcp'],
  summary: 'Call as an agent: one message of the Model Context Protocol',
  description:
    'Streamable HTTP of MCP, without sessions and streams; docs/agents.md has the tools. ' +
    'Accepts API keys and the tokens of assistants. A body that is not a message gets an error ' +
    'of this API; a message gets an answer of the protocol.',
  body: Message,
  response: {
    200: { description: 'The answer to a request of the protocol.', content: json },
    202: { description: 'The notification was accepted; no body.', type: 'null' },
    400: {
      description:
        'Invalid JSON, more than one message, or a message that the protocol does not have.',
      content: { ...json, ...problem },
    },
    401: refused('The key is missing, unknown, expired or revoked; a session does not count.'),
    403: refused('The Origin is not this server, or the token lacks a scope.'),
    404: { description: 'A method that the protocol does not have.', content: json },
    405: refused('Only POST is allowed.'),
    406: refused('The Accept header does not allow JSON.'),
    409: refused('A request with this Idempotency-Key is in progress.'),
    413: refused('The body is larger than 1048576 bytes.'),
    415: refused('The body is not application/json.'),
    422: refused('The Idempotency-Key was used for another request.'),
    429: refused('Too many requests; Retry-After says when to retry.'),
    500: refused('The server failed.'),
    503: refused('A store does not answer at the moment; Retry-After says when to retry.'),
  },
};
