import type { ToolEntry } from '../catalogue.ts';
import type { ToolDefinition, ToolDescription, ToolMapping } from '../tool.ts';

/** The directory name of our own tool. */
const http_directory = 'sluice-http-request';
/** The address of the tool in the catalogue; it has no package. */
export const http_url = 'sluice:http-request';
/** The version of its form: raise it with a change of settings, fields or initial mappings. */
export const http_version = '1.1.0';

/** Returns true for the tool that runs without the library. */
export function isHttpRequest({ directory }: Pick<ToolDefinition, 'directory'>): boolean {
  return directory === http_directory;
}

/** The entry of the catalogue. */
export const http_entry: ToolEntry = {
  directory: http_directory,
  id: http_directory,
  slug: http_directory,
  name: 'HTTP request',
  description:
    'Sends each event to an address: a webhook of yours, Slack, Segment. You choose headers, ' +
    'body and signature. Needs no package.',
  hosts: [],
};

const every_type = ['track', 'identify', 'page', 'screen', 'group', 'alias']
  .map((type) => `type = "${type}"`)
  .join(' or ');

const body: ToolMapping['mapping'] = { '@path': '$.' };
const key: ToolMapping['mapping'] = { '@path': '$.messageId' };

const fields: ToolDescription['actions'][string]['fields'] = {
  url: {
    label: 'Address',
    description:
      'Values go in as {{userId}} and are encoded. {{secret}} stands for the secret of the ' +
      'settings.',
    type: 'string',
    required: true,
  },
  method: {
    label: 'Method',
    type: 'string',
    required: true,
    choices: ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'],
    default: 'POST',
  },
  format: {
    label: 'Format of the body',
    type: 'string',
    required: true,
    choices: [
      { value: 'json', label: 'JSON' },
      { value: 'form', label: 'Form (URL-encoded)' },
      { value: 'text', label: 'Text' },
    ],
    default: 'json',
    depends_on: { conditions: [{ fieldKey: 'method', operator: 'is_not', value: 'GET' }] },
  },
  body: {
    label: 'Body',
    description: '$. is the whole event. JSON may have paths and templates anywhere in it.',
    type: 'object',
    default: body,
    depends_on: { conditions: [{ fieldKey: 'method', operator: 'is_not', value: 'GET' }] },
  },
  headers: {
    label: 'Headers',
    description: 'JSON, such as {"Authorization": {"@template": "Bearer {{secret}}"}}.',
    type: 'object',
  },
  idempotency_key: {
    label: 'Idempotency key',
    description:
      'Sent as the header Idempotency-Key: the same at each attempt, so the receiver can drop ' +
      'repetitions. Empty: no header.',
    type: 'string',
    default: key,
  },
};

/** The description of the tool for its files and its form. */
export const http_description: ToolDescription = {
  name: http_entry.name,
  scheme: null,
  is_audience: false,
  settings: {
    secret: {
      label: 'Secret',
      description: 'Replaces {{secret}} in the address and the headers, such as a token.',
      type: 'password',
    },
    signing_secret: {
      label: 'Signing secret',
      description:
        'If set, each request has webhook-id, webhook-timestamp and a signature, as Standard ' +
        'Webhooks say: HMAC-SHA256 over "id.timestamp.body". A secret that begins with whsec_ is ' +
        'read as base64, any other one as text.',
      type: 'password',
    },
    sign_header: {
      label: 'Header of the signature',
      type: 'string',
      default: 'webhook-signature',
    },
  },
  actions: {
    send: {
      title: 'Send a request',
      description: 'Sends one request for each event.',
      subscribe: every_type,
      fields,
    },
  },
  presets: [
    {
      type: 'automatic',
      name: 'Every event as JSON',
      partnerAction: 'send',
      subscribe: every_type,
      mapping: { method: 'POST', format: 'json', body, idempotency_key: key },
    },
    {
      type: 'template',
      name: 'Message for Slack, Mattermost or Google Chat',
      partnerAction: 'send',
      subscribe: 'type = "track"',
      mapping: {
        method: 'POST',
        format: 'json',
        body: { text: { '@template': '{{event}}: {{userId}}' } },
      },
    },
    {
      type: 'template',
      name: 'Every event to Segment (replace WRITE_KEY)',
      partnerAction: 'send',
      subscribe: every_type,
      mapping: {
        url: { '@template': 'https://api.segment.io/v1/{{type}}' },
        method: 'POST',
        format: 'json',
        body: {
          '@merge': { objects: [{ '@path': '$.' }, { writeKey: 'WRITE_KEY' }], direction: 'right' },
        },
      },
    },
  ],
};
