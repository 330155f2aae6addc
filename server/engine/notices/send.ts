import { setTimeout } from 'node:timers/promises';
import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/log.ts';
import type { Mail } from '../../platform/mail/mail.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { Tracer } from '../../platform/tracing/tracer.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { readWebhookSecret } from '../../platform/outbound/standard_webhooks.ts';
import { postWebhook, sendMail } from './attempt.ts';
import type { AttemptResult } from './attempt.ts';
import { claimBeside, claimDueDeliveries } from './claim.ts';
import type { DueDelivery } from './claim.ts';
import type { NoticeBody } from './notice.ts';
import { noticeMail } from './notice_mail.ts';
import type { Addressee } from './notice_mail.ts';
import { findTarget, isAdministrator, openTarget, releaseDelivery } from './outbox.ts';
import { serviceBody } from './services.ts';
import { settleDelivery } from './settle_delivery.ts';
import type { PostedType, Target } from './outbox.ts';

/** The outside parts that the sender uses. */
export type NoticeSender = {
  db: Database;
  clock: Clock;
  log: Logger;
  secrets: Secrets;
  outbound: Outbound;
  mail: Mail;
  public_url: string;
  /** undefined: traces are off */
  tracer: Tracer | undefined;
};

/**
 * Number of concurrent attempts of one process: they mostly wait for their receivers and cost
 * little.
 */
const attempts_at_once_max = 32;
/** Lease of an attempt; after it, another process repeats the attempt. */
const lease_ms = 60_000;
/** Interval at which the sender looks for new notices during attempts. */
const default_look_ms = 2_000;

/**
 * `answer_ms` bounds the wait for a receiver's answer; default 15 s. `look_ms`: interval of looks
 * for new notices during attempts; default 2 s.
 */
type SendOptions = { signal?: AbortSignal; answer_ms?: number; look_ms?: number };

/**
 * Attempts every due delivery until none is due or in progress, and returns the number of attempts.
 * Guarantees: those of `claimDueDeliveries`, in any number of processes. A hanging receiver delays
 * no other delivery. A result is stored before the next attempt is due. After a crash the receiver
 * gets the notice again, with the same id.
 */
export async function sendDueNotices(
  sender: NoticeSender,
  options: SendOptions = {},
): Promise<number> {
  const { signal = new AbortController().signal, answer_ms, look_ms = default_look_ms } = options;
  const under_way = new Set<Promise<void>>();
  let created = 0;
  let last_team_id = 0;
  const begin = (due: DueDelivery) => {
    const attempted = createAttempt(sender, due, signal, answer_ms).finally(() =>
      under_way.delete(attempted),
    );
    under_way.add(attempted);
  };
  try {
    while (!signal.aborted) {
      // Read before the claim: a delivery that ends meanwhile frees its recipient.
      const isIdle = under_way.size === 0;
      const now = sender.clock.now();
      const free = attempts_at_once_max - under_way.size;
      const claimed =
        free === 0
          ? []
          : await claimDueDeliveries(
              sender.db,
              { now, leased_until: now + lease_ms, last_team_id },
              free,
            );
      claimed.forEach(begin);
      created += claimed.length;
      last_team_id = claimed.at(-1)?.team_id ?? last_team_id;
      if (isIdle && claimed.length === 0) break;
      if (under_way.size > 0) await anyOrLater(under_way, look_ms);
    }
  } finally {
    await Promise.all(under_way);
  }
  return created;
}

/** Waits until one attempt has ended, or for the given time. */
async function anyOrLater(under_way: Iterable<Promise<void>>, wait_ms: number): Promise<void> {
  const waiting = new AbortController();
  await Promise.race([...under_way, setTimeout(wait_ms, undefined, { signal: waiting.signal })]);
  waiting.abort();
}

/**
 * Makes one attempt; a mail includes all that waits for its recipient. Never rejects: if the result
 * cannot be stored, the attempt is repeated after its lease.
 */
async function createAttempt(
  sender: NoticeSender,
  due: DueDelivery,
  signal: AbortSignal,
  answer_ms: number | undefined,
): Promise<void> {
  await orLater(sender, due, async () => {
    const dues = due.is_mail ? await withBeside(sender, due) : [due];
    let result: AttemptResult;
    try {
      const work = () => attempt(sender, dues, signal, answer_ms);
      result = await (sender.tracer?.during(
        'notice',
        { 'sluice.notice_id': due.notice_id },
        work,
      ) ?? work());
    } catch (error) {
      if (!signal.aborted) throw error;
      await releaseDelivery(sender, due);
      return;
    }
    const moment = { now: sender.clock.now(), jitter: Math.random() };
    for (const one of dues)
      await orLater(sender, one, () => settleDelivery(sender, one, result, moment));
  });
}

/** Returns the delivery with the recipient's other waiting deliveries, the oldest first. */
async function withBeside(sender: NoticeSender, due: DueDelivery): Promise<DueDelivery[]> {
  const now = sender.clock.now();
  const beside = await claimBeside(sender.db, due, { now, leased_until: now + lease_ms });
  return [due, ...beside].toSorted((one, other) => one.id - other.id);
}

async function orLater(
  sender: NoticeSender,
  due: DueDelivery,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    sender.log.warn(
      { err: error, notice_id: due.notice_id },
      'a notice could not be sent, or its outcome could not be stored; Sluice retries in a minute',
    );
  }
}

async function attempt(
  sender: NoticeSender,
  dues: DueDelivery[],
  signal: AbortSignal,
  answer_ms: number | undefined,
): Promise<AttemptResult> {
  const [due] = dues as [DueDelivery, ...DueDelivery[]];
  const post = (to: string, addressee: Addressee) =>
    sendMail(
      sender.mail,
      { to, ...noticeMail(sender.public_url, dues.map(bodyOf), addressee) },
      `${due.notice_id}.${due.id}`,
    );
  if (due.target_id === null)
    return (await isAdministrator(sender.db, due.team_id, due.address!))
      ? post(due.address!, 'administrator')
      : { outcome: 'hopeless', detail: 'The address no longer belongs to an administrator.' };
  const target = await findTarget(sender.db, due.target_id);
  if (target === undefined || !target.enabled)
    return {
      outcome: 'hopeless',
      detail: 'The target was switched off before the notice could be delivered.',
    };
  if (target.type === 'email') return post(target.address, 'target');
  const { type } = target;
  const textsFor = (secret: string | undefined) => [
    type === 'webhook' ? due.body : serviceBody(type, sender.public_url, bodyOf(due), secret),
  ];
  return postToTarget(sender, target, { id: due.notice_id, textsFor }, signal, answer_ms);
}

function bodyOf({ body }: DueDelivery): NoticeBody {
  return JSON.parse(body) as NoticeBody;
}

/**
 * Posts texts to a target's address one after another while they are accepted, like `postWebhook`.
 * `textsFor` gets the target's secret. Only a webhook signs with it; a service has it in its text.
 */
export async function postToTarget(
  sender: Pick<NoticeSender, 'secrets' | 'outbound' | 'clock'>,
  target: Target & { type: PostedType },
  { id, textsFor }: { id: string; textsFor: (secret: string | undefined) => string[] },
  signal: AbortSignal,
  answer_ms?: number,
): Promise<AttemptResult> {
  const opened = openedTarget(sender.secrets, target);
  const key = target.type === 'webhook' ? readWebhookSecret(opened?.secret ?? '') : undefined;
  if (opened === undefined || (target.type === 'webhook' && key === undefined)) {
    const detail =
      "The target's address or secret cannot be decrypted with this server's key. Set both " +
      'again, or start the server with the key that encrypted them.';
    return { outcome: 'failed', detail };
  }
  let result: AttemptResult = { outcome: 'delivered' };
  for (const body of textsFor(opened.secret)) {
    result = await postWebhook(sender, { url: opened.url, key, id, body }, signal, answer_ms);
    if (result.outcome !== 'delivered') break;
  }
  return result;
}

function openedTarget(secrets: Secrets, target: Target & { type: PostedType }) {
  try {
    return openTarget(secrets, target);
  } catch {
    return undefined;
  }
}
