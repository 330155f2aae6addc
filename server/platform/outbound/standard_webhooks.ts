import { createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';
const secret_form = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
const key_bytes_min = 24;
const key_bytes_max = 64;
const new_key_bytes = 32;

/**
 * Returns the key bytes of a Standard Webhooks secret: `whsec_` and 24 to 64 bytes in base64;
 * undefined for any other text.
 */
export function readWebhookSecret(secret: string): Buffer | undefined {
  if (!secret_form.test(secret)) return undefined;
  const key = Buffer.from(secret.slice(prefix.length), 'base64');
  return key.length >= key_bytes_min && key.length <= key_bytes_max ? key : undefined;
}

/** Returns a new random secret in the form of `readWebhookSecret`. */
export function newWebhookSecret(): string {
  return `${prefix}${randomBytes(new_key_bytes).toString('base64')}`;
}

/**
 * Returns the headers that identify and sign one attempt to send `body` (Standard Webhooks, version
 * `v1`): HMAC-SHA-256 over `id.timestamp.body`. `id` is the same for all attempts, `sent_at` is the
 * instant of this one in milliseconds.
 */
export function webhookHeaders(
  key: Buffer,
  id: string,
  sent_at: number,
  body: string | Buffer,
): Record<string, string> {
  const timestamp = String(Math.floor(sent_at / 1000));
  const signature = createHmac('sha256', key)
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
}
