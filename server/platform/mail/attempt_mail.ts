import sql from 'sql-template-tag';
import { isoInstant } from '../clock.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Database, Transaction } from '../postgres/database.ts';
import { nextAttempt } from '../pacing/retry_schedule.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { Mail, MailMessage } from './mail.ts';

/** A mail that one process has claimed; `attempts` includes this attempt. */
export type DueMail = {
  id: string;
  link: string | null;
  message_sealed: Buffer;
  attempts: number;
  expires_at: string;
};

/**
 * Records, in the transaction that ends the mail, that the relay has accepted the one with this
 * link.
 */
export type LinkTaken = (tx: Transaction, link: string, now_ms: number) => Promise<unknown>;

/** The outside parts of an attempt. */
export type MailSender = {
  db: Database;
  clock: Clock;
  log: Logger;
  secrets: Secrets;
  mail: Mail;
  onTaken: LinkTaken;
};

/** Returns the context that seals a mail. */
export function mailContext(id: string): string {
  return `mails:${id}:message`;
}

/**
 * Sends the mail to the relay once and stores the result; the content is deleted at the end. An
 * attempt that lost its lease changes nothing. Never rejects: a result that cannot be stored is
 * repeated after the lease.
 */
export async function attemptMail(sender: MailSender, due: DueMail): Promise<void> {
  const { log, clock, mail } = sender;
  try {
    const is_wanted = Date.parse(due.expires_at) > clock.now();
    const message = is_wanted ? open(sender, due) : undefined;
    const is_taken = message !== undefined && (await mail.send(message, due.id));
    await settle(sender, due, is_taken);
  } catch (error) {
    log.warn(
      { err: error, mail_id: due.id },
      'the outcome of a mail could not be stored; Sluice retries in a minute',
    );
  }
}

function open({ secrets, log }: MailSender, due: DueMail): MailMessage | undefined {
  try {
    return JSON.parse(secrets.open(due.message_sealed, mailContext(due.id))) as MailMessage;
  } catch (error) {
    log.error(
      { err: error, mail_id: due.id },
      "a mail cannot be decrypted with this server's key; start the server with the key that " +
        'encrypted the mail',
    );
    return undefined;
  }
}

async function settle(
  { db, clock, log, onTaken }: MailSender,
  due: DueMail,
  is_taken: boolean,
): Promise<void> {
  const now = clock.now();
  const next = is_taken ? null : nextAttempt(due.attempts, now);
  const is_pending = next !== null && next < Date.parse(due.expires_at);
  const outcome = is_taken ? 'sent' : is_pending ? 'pending' : 'given_up';
  await db.transaction(async (tx) => {
    // Lock order: the link's target before the mail, as in the code that ends the link and
    // withdraws the mail.
    if (is_taken && due.link !== null) await onTaken(tx, due.link, now);
    await tx.run(sql`
      UPDATE mails SET outcome = ${outcome},
        next_attempt_at = ${is_pending ? isoInstant(next) : null}::timestamptz,
        message_sealed = CASE WHEN ${is_pending}::boolean THEN message_sealed END
      WHERE id = ${due.id}::uuid AND attempts = ${due.attempts} AND outcome = 'pending'`);
  });
  if (outcome === 'given_up')
    log.warn(
      { mail_id: due.id, attempts: due.attempts },
      'a mail was given up: the relay did not accept it before it expired',
    );
}
