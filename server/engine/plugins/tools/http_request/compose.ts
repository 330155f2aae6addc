import { isFields } from '../../../../platform/fields.ts';
import type { Fields } from '../../../../platform/fields.ts';
import {
  readWebhookSecret,
  webhookHeaders,
} from '../../../../platform/outbound/standard_webhooks.ts';
import { MappingFault, render, resolve, resolveMapping } from '../resolve.ts';

/** A request in the form in which it is sent. */
export type ComposedRequest = {
  url: string;
  method: string;
  headers: [string, string][];
  body: string | null;
};

type Settings = { secret?: string; signing_secret?: string; sign_header?: string };

const methods_without_body = ['GET', 'HEAD'];

/**
 * Builds the request of a mapping for an event. `secret` only becomes part of the URL and headers,
 * never of the body. Throws a MappingFault for values that do not form a request.
 */
export function composeRequest(
  event: object & { messageId: string },
  mapping: Fields,
  settings: Settings,
  now_ms: number,
): ComposedRequest {
  const { url, headers: named, ...others } = mapping;
  const { method = 'POST', format = 'json', body, idempotency_key } = resolveMapping(others, event);
  const known = { ...event, secret: settings.secret ?? '' };
  const verb = textOf('Method', method).toUpperCase();
  const text = methods_without_body.includes(verb) ? null : bodyOf(format, body);
  const headers = new Map<string, string>();
  const put = (name: string, value: string) => headers.set(name.toLowerCase(), value);
  if (text !== null) put('content-type', content_types[String(format)]!);
  if (idempotency_key !== undefined && idempotency_key !== null && idempotency_key !== '')
    put('idempotency-key', textOf('Idempotency key', idempotency_key));
  const given = named === undefined ? {} : resolveMapping({ named }, known)['named'];
  if (!isFields(given ?? {})) throw new MappingFault('Headers must be an object of texts.');
  for (const [name, value] of Object.entries((given ?? {}) as Fields))
    if (value !== null) put(name, textOf(`The header ${name}`, value));
  for (const [name, value] of signatureOf(settings, event.messageId, now_ms, text ?? ''))
    put(name, value);
  return { url: addressOf(url, known), method: verb, headers: [...headers], body: text };
}

/** Values inside a URL are encoded, so that they cannot become other parts of it. */
function addressOf(url: unknown, known: object): string {
  const template = isFields(url) ? url['@template'] : undefined;
  if (typeof template !== 'string') return textOf('Address', resolve(url, known));
  return render(template, known, (value, path, at, is_raw) =>
    is_raw || at === 0 || path === 'secret' ? String(value) : encodeURIComponent(String(value)),
  );
}

const content_types: Record<string, string> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  text: 'text/plain; charset=utf-8',
};

function bodyOf(format: unknown, body: unknown): string {
  if (format === 'text') return body === undefined ? '' : textOf('A body of text', body);
  if (format === 'json') return JSON.stringify(body ?? null);
  if (format !== 'form') throw new MappingFault('The format of a body is json, form or text.');
  if (!isFields(body ?? {})) throw new MappingFault('The body of a form must be an object.');
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries((body ?? {}) as Fields))
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value])
      form.append(name, typeof one === 'string' ? one : JSON.stringify(one));
  return form.toString();
}

function textOf(what: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new MappingFault(`${what} must be a text${value === undefined ? ', and is missing' : ''}.`);
}

/** Returns the headers of Standard Webhooks; the signature's name is configurable. */
function signatureOf(
  { signing_secret = '', sign_header = 'webhook-signature' }: Settings,
  id: string,
  now_ms: number,
  body: string,
): [string, string][] {
  if (signing_secret === '') return [];
  const key = readWebhookSecret(signing_secret) ?? Buffer.from(signing_secret);
  const headers = Object.entries(webhookHeaders(key, id, now_ms, body));
  return headers.map(([name, value]) => [name === 'webhook-signature' ? sign_header : name, value]);
}
