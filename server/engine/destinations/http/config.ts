import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../../platform/nullable.ts';
import { addressFault } from '../../../platform/outbound/plain_address.ts';
import { readWebhookSecret } from '../../../platform/outbound/standard_webhooks.ts';
import type { ConfigViolation } from '../../model/destination/destination.ts';
import { requiredText } from '../../model/destination/config_keys.ts';
import { violation } from '../../model/destination/violation.ts';

/**
 * The shapes of a request's body, the default first. `Batch` is `{"api_key",
 * "historical_migration": true, "batch": [...]}`.
 */
export const body_formats = ['JSONLines', 'JSONArray', 'Batch'] as const;

/** Compressions of bodies. */
export const body_compressions = ['gzip', 'brotli', 'zstd'] as const;

/** The keys of an HTTP destination. */
export const http_config = Type.Object(
  {
    url: requiredText(
      4096,
      'Sluice sends the rows to this address with POST. With http, they are sent unencrypted.',
    ),
    token: Type.Optional(
      Type.String({
        maxLength: 4096,
        default: '',
        description:
          'Sent as `Authorization: Bearer <token>`. The body format `Batch` sends it as ' +
          '`api_key` instead. If empty, Sluice sends no token.',
      }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        maxProperties: 50,
        default: {},
        description: 'Sent with every request, and stored as a secret.',
      }),
    ),
    body_format: Type.Optional(
      Type.Unsafe<(typeof body_formats)[number]>({
        type: 'string',
        enum: [...body_formats],
        default: 'JSONLines',
        description:
          '`JSONLines`: one row per line. `JSONArray`: a list of rows. `Batch`: an object with ' +
          '`api_key`, `historical_migration` and the list `batch`.',
      }),
    ),
    compression: Type.Optional(
      nullable(
        Type.Unsafe<(typeof body_compressions)[number]>({
          type: 'string',
          enum: [...body_compressions],
          default: null,
          description: 'Sent as `Content-Encoding`.',
        }),
      ),
    ),
    max_request_records: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100_000, default: 5_000 }),
    ),
    max_request_size_mb: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 50,
        default: 10,
        description:
          'The size before compression, in units of 10^6 bytes. A larger row has a request of ' +
          'its own.',
      }),
    ),
    signing_secret: Type.Optional(
      Type.String({
        maxLength: 200,
        default: '',
        description:
          'Signs requests by Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. If empty, ' +
          'requests are not signed.',
      }),
    ),
  },
  { additionalProperties: false },
);

/** The values of the keys that a user has set. */
export type HttpConfig = Static<typeof http_config>;

/** Returns the signing key's bytes, or undefined if requests are unsigned. */
export function signingKey(config: HttpConfig): Buffer | undefined {
  const secret = config.signing_secret ?? '';
  return secret === '' ? undefined : readWebhookSecret(secret);
}

/** Headers that the request itself sets; lower case. */
const own_headers = new Set([
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'idempotency-key',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
]);

/** Checks rules that the schema cannot express. */
export function httpViolations(config: HttpConfig): ConfigViolation[] {
  const found: ConfigViolation[] = [];
  const fault = addressFault(config.url);
  if (fault !== undefined) found.push(violation('url', fault));
  if (config.token !== undefined && !/^[\x21-\x7e]*$/.test(config.token))
    found.push(
      violation('token', 'The token must consist of visible ASCII characters without spaces.'),
    );
  for (const [name, value] of Object.entries(config.headers ?? {})) {
    const isUsable =
      /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name) &&
      /^[\t\x20-\x7e]*$/.test(value) &&
      value.length <= 8192;
    const isOwn =
      own_headers.has(name.toLowerCase()) &&
      !(name.toLowerCase() === 'authorization' && (config.token ?? '') === '');
    if (!isUsable || isOwn) {
      const detail = isOwn
        ? `The header ${name.toLowerCase()} is set by the export itself.`
        : 'A header has a name or a value that HTTP does not allow.';
      found.push(violation('headers', detail));
    }
  }
  if ((config.signing_secret ?? '') !== '' && signingKey(config) === undefined)
    found.push(
      violation(
        'signing_secret',
        'The signing secret must be whsec_ and 24 to 64 bytes in base64.',
      ),
    );
  return found;
}
