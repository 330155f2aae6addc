import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/log.ts';
import type { Mail } from '../../platform/mail.ts';
import type { Outbound } from '../../platform/outbound.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { readWebhookSecret } from '../../platform/standard_webhooks.ts';
import { postWebhook, sendMail } from './attempt.ts';
import type { AttemptResult } from './attempt.ts';
import type { NoticeBody } from './notice.ts';
import { noticeMail } from './notice_mail.ts';
import { claimDueDelivery, findTarget, secretContext, settleDelivery } from './outbox.ts';
import type { DueDelivery, Target } from './outbox.ts';

/** What sending notices needs from outside. */
export type NoticeSender = { db: Database; clock: Clock; log: Logger; secrets: Secrets; outbound: Outbound; mail: Mail; public_url: string };

/** How many notices one process sends at a time. */
const default_concurrency = 8;
/** So long an attempt and what follows it may take before another process makes it again. */
const lease_ms = 60_000;

/** `answer_ms` bounds how long a receiver may take to answer; default 10 s. */
type SendOptions = { signal?: AbortSignal; concurrency?: number; answer_ms?: number };

/**
 * Makes one attempt for every delivery that is due, the longest waiting first, and gives how many there were. Guarantees: processes that do this at once share the deliveries; what an attempt came to
 * is stored before the next one is due; a process that dies in between makes its receiver get the notice again, with the same id, and never leaves it without one.
 */
export async function sendDueNotices(sender: NoticeSender, options: SendOptions = {}): Promise<number> {
  const { signal = new AbortController().signal, concurrency = default_concurrency, answer_ms } = options;
  let made = 0;
  const lane = async () => {
    while (!signal.aborted) {
      const now = sender.clock.now();
      const due = await claimDueDelivery(sender.db, now, now + lease_ms);
      if (due === undefined) return;
      try {
        await settleDelivery(sender, due, await attempt(sender, due, signal, answer_ms));
      } catch (error) {
        if (signal.aborted) return;
        sender.log.warn({ err: error, notice_id: due.notice_id }, 'a notice could not be sent or its outcome not be kept; it is tried again in a minute');
      }
      made += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  return made;
}

async function attempt(sender: NoticeSender, due: DueDelivery, signal: AbortSignal, answer_ms: number | undefined): Promise<AttemptResult> {
  const body = JSON.parse(due.body) as NoticeBody;
  if (due.target_id === null) return sendMail(sender.mail, { to: due.address!, ...noticeMail(sender.public_url, body, 'administrator') });
  const target = await findTarget(sender.db, due.target_id);
  if (target === undefined || !target.enabled) return { outcome: 'hopeless', detail: 'The target was switched off before the notice could be delivered.' };
  if (target.type === 'email') return sendMail(sender.mail, { to: target.address, ...noticeMail(sender.public_url, body, 'target') });
  return postToTarget(sender, target, { id: due.notice_id, body: due.body }, signal, answer_ms);
}

/** Posts a message to a webhook's address under the target's secret, once; as `postWebhook`. */
export async function postToTarget(
  sender: Pick<NoticeSender, 'secrets' | 'outbound' | 'clock'>,
  target: Target & { type: 'webhook' },
  message: { id: string; body: string },
  signal: AbortSignal,
  answer_ms?: number,
): Promise<AttemptResult> {
  let key: Buffer | undefined;
  try {
    key = readWebhookSecret(sender.secrets.open(target.secret, secretContext(target.id)));
  } catch {
    key = undefined;
  }
  if (key === undefined) {
    const detail = "The target's secret cannot be opened with this server's key: set it again, or start the server with the key under which it was stored.";
    return { outcome: 'failed', detail };
  }
  return postWebhook(sender, { url: target.url, key, ...message }, signal, answer_ms);
}
