import { request_timeout_milliseconds } from '../../object_store/object_store.ts';
import { parseExactJson } from '../../../../platform/json/exact_json.ts';
import { isFields } from '../../../../platform/fields.ts';
import type { Fields } from '../../../../platform/fields.ts';
import { readBounded } from '../../../../platform/read_bounded.ts';
import type { DestinationDeps } from '../../../model/destination/destination.ts';
import { RetryableError } from '../../../model/destination/errors.ts';
import { stopError, throwIfStopped } from '../../../model/destination/stop.ts';
import { statusError, wayError } from './catalog_faults.ts';

const answer_bytes_max = 128 * 1024 * 1024;

/** An answer: its status, its JSON with exact numbers (empty for no JSON), and its message. */
export type Answer = { status: number; fields: Fields; said: string };

/** Throws unless the answer is a success. */
export function requireSuccess({ status, said, fields }: Answer): Fields {
  if (status < 200 || status > 299) throw statusError(status, said);
  return fields;
}

/** A request; its body is text. */
export type Sendable = {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body?: string;
  type?: string;
};

/**
 * Sends a request once: a commit must never be resent automatically. Follows no redirects, so
 * credentials reach no other host. Throws if no answer came.
 */
export async function send(
  { method, url, headers, body, type }: Sendable,
  { outbound, signal }: DestinationDeps,
): Promise<Answer> {
  throwIfStopped(signal);
  const timeout = AbortSignal.timeout(request_timeout_milliseconds);
  try {
    const response = await outbound.fetch(url, {
      method,
      redirect: 'manual',
      headers: {
        ...headers,
        'User-Agent': 'sluice',
        ...(type === undefined ? {} : { 'Content-Type': type }),
      },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.any([signal, timeout]),
    });
    const bytes = await readBounded(response.body ?? [], answer_bytes_max, tooLarge);
    return { status: response.status, ...readAnswer(bytes.toString()) };
  } catch (error) {
    if (signal.aborted) throw stopError(signal);
    throw timeout.aborted ? stopError(timeout) : wayError(error);
  }
}

function tooLarge(): Error {
  return new RetryableError('unexpected_answer', 'The catalog answered more than 128 MiB.');
}

/** Errors are `{"error": {"message": ...}}`; OAuth has a text for `error`, Glue a `Message`. */
function readAnswer(text: string): Pick<Answer, 'fields' | 'said'> {
  let fields: unknown;
  try {
    fields = parseExactJson(text);
  } catch {
    return { fields: {}, said: '' };
  }
  if (!isFields(fields)) return { fields: {}, said: '' };
  const { error, error_description: description, message, Message } = fields;
  const said = isFields(error) ? error['message'] : (description ?? error ?? message ?? Message);
  if (typeof said !== 'string') return { fields, said: '' };
  // AWS repeats the signed headers of a request there, among them a session token.
  return { fields, said: said.replace(/\s*The Canonical String.*/s, '').slice(0, 300) };
}
