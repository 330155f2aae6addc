import type { Clock } from '../../platform/clock.ts';
import type { Mail, MailMessage } from '../../platform/mail/mail.ts';
import { isSayable } from '../../platform/outbound/outbound_faults.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import { webhookHeaders } from '../../platform/outbound/standard_webhooks.ts';
import { inSpan } from '../../platform/tracing/span.ts';
import { tracedHeaders } from '../../platform/tracing/traceparent.ts';
import { restAskedFor } from '../../platform/pacing/retry_schedule.ts';

/** Time limit for a receiver's answer: 15 s, the least that Standard Webhooks recommends. */
const answer_ms_max = 15_000;

/**
 * The result of one attempt. `failed` may succeed later, after a pause if the receiver asked for
 * one (`rest_ms`). `hopeless` cannot succeed. `gone` means the receiver at `url` wants no more
 * notices (410). `status` is the HTTP status of a webhook's answer. Sentences contain no text of
 * the receiver.
 */
export type AttemptResult = { status?: number } & (
  | { outcome: 'delivered' }
  | { outcome: 'failed'; detail: string; rest_ms?: number }
  | { outcome: 'hopeless'; detail: string }
  | { outcome: 'gone'; detail: string; url: string }
);

/** A message for a webhook; without a key it is unsigned. */
export type WebhookMessage = { url: string; key: Buffer | undefined; id: string; body: string };

/**
 * Posts a message once and waits up to `answer_ms` for the status. With a key, it signs the message
 * for this moment. Every status of 200 to 299 counts as delivered. It follows no redirects and does
 * not read the answer's body. Rejects only if `signal` aborts; the outcome is unknown then.
 */
export async function postWebhook(
  { outbound, clock }: { outbound: Outbound; clock: Clock },
  { url, key, id, body }: WebhookMessage,
  signal: AbortSignal,
  answer_ms = answer_ms_max,
): Promise<AttemptResult> {
  const timeout = AbortSignal.timeout(answer_ms);
  try {
    const send = () =>
      outbound.fetch(url, {
        method: 'POST',
        redirect: 'manual',
        headers: tracedHeaders({
          'content-type': 'application/json',
          'user-agent': 'sluice',
          ...(key === undefined ? {} : webhookHeaders(key, id, clock.now(), body)),
        }),
        body,
        signal: AbortSignal.any([signal, timeout]),
      });
    const response = await inSpan('webhook', { 'sluice.webhook_id': id }, send, 3);
    await response.body?.cancel();
    const { status, headers } = response;
    const rest_ms = restAskedFor(status, headers.get('retry-after'), clock.now());
    return { ...resultOf(status, url, rest_ms), status };
  } catch (error) {
    if (signal.aborted) throw error;
    if (timeout.aborted)
      return {
        outcome: 'failed',
        detail: `The receiver did not answer within ${answer_ms / 1000} seconds.`,
      };
    return {
      outcome: 'failed',
      detail: isSayable(error) ? error.message : sentenceOf(error),
    };
  }
}

function resultOf(status: number, url: string, rest_ms: number): AttemptResult {
  if (status >= 200 && status <= 299) return { outcome: 'delivered' };
  if (status === 410)
    return {
      outcome: 'gone',
      detail: 'The receiver answered 410, so Sluice sends it no more notices.',
      url,
    };
  if (status >= 300 && status <= 399)
    return {
      outcome: 'failed',
      detail:
        `The receiver answered ${status}, a redirect, which is not followed: enter the address ` +
        'that it leads to.',
    };
  const asked =
    rest_ms === 0 ? '' : ` Sluice sends it nothing for ${Math.ceil(rest_ms / 1000)} seconds.`;
  return {
    outcome: 'failed',
    detail: `The receiver answered ${status} instead of a status from 200 to 299.${asked}`,
    rest_ms,
  };
}

/**
 * Returns a sentence with the codes of the system's errors only, because they contain no address.
 */
function sentenceOf(error: unknown): string {
  const { code } = ((error as Error).cause ?? error) as { code?: unknown };
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET')
    return 'The receiver ended the connection without an answer.';
  return `The receiver could not be reached${typeof code === 'string' ? ` (${code})` : ''}.`;
}

/** Sends a mail to the relay once, with `id` as in `Mail.send`. Never rejects. */
export async function sendMail(
  mail: Mail,
  message: MailMessage,
  id?: string,
): Promise<AttemptResult> {
  if (!mail.is_configured)
    return {
      outcome: 'hopeless',
      detail: 'This server sends no mails: its operator has to set SLUICE_SMTP_URL.',
    };
  if (await mail.send(message, id)) return { outcome: 'delivered' };
  return {
    outcome: 'failed',
    detail: 'The mail relay did not accept the mail; the log of the server says why.',
  };
}
