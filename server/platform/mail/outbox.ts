import { v7 as uuidv7 } from 'uuid';
import sql from 'sql-template-tag';
import { isoInstant } from '../clock.ts';
import type { Database, Transaction } from '../postgres/database.ts';
import { attemptMail, mailContext } from './attempt_mail.ts';
import type { DueMail, MailSender } from './attempt_mail.ts';
import type { MailMessage } from './mail.ts';

/**
 * The link in a mail. `name` is its name in `mails.link`, by which the database withdraws the mail
 * if the link becomes void. At `expires_at_ms` the link expires, and the mail with it.
 */
export type MailedLink = { name: string; expires_at_ms: number };

/** A mail to write; one without a link stays useful for 3 days. */
export type NewMail = { message: MailMessage; link?: MailedLink };

/**
 * The mails to send. Guarantees: a mail is sent if and only if the transaction that wrote it is
 * committed, also after a kill. One process at a time sends it. A mail that the relay does not
 * accept is retried over a day, and none is sent once its link is void or it has expired. It
 * arrives twice, with the same Message-ID, only if the relay accepted it and the answer or its
 * record was lost.
 */
export type Outbox = {
  /** Writes mails and returns their ids for `send`; empty without a relay. */
  write(tx: Transaction, mails: NewMail[]): Promise<string[]>;
  /** Writes mails, and starts to send them after the commit; nobody waits for it. */
  post(place: Place, mails: NewMail[]): Promise<void>;
  /**
   * Makes the first attempt at committed mails, in order, until `signal` stops it. Never rejects.
   * `sendDue` continues with the rest.
   */
  send(ids: string[], signal?: AbortSignal): Promise<void>;
  /** Makes one attempt at every mail that is due, until none is, and returns their number. */
  sendDue(signal?: AbortSignal): Promise<number>;
  /** Starts no further attempt and waits for those in progress. */
  close(): Promise<void>;
};

/** A change in progress: its transaction, and the registration of effects after the commit. */
type Place = { tx: Transaction; afterwards: (effect: () => Promise<unknown>) => void };

/**
 * Fewer than the connections to the relay, so that a single mail does not wait behind a thousand.
 */
const mails_at_once = 3;
/**
 * Time for which a mail without a link is useful: longer than the retries for a server that is
 * down.
 */
const wanted_ms = 3 * 24 * 3_600_000;
/** Time during which a mail belongs to the process that wrote it. */
const first_attempt_ms = 10_000;
/** Lease of an attempt; after it, another process repeats the attempt. */
const lease_ms = 60_000;
/** Number of mails that are sealed and written at a time: a few milliseconds of the event loop. */
const lot_mails = 50;

/** Opens the outbox of a process. */
export function openOutbox(sender: MailSender): Outbox {
  const { mail, db, clock, log } = sender;
  const closing = new AbortController();
  const under_way = new Set<Promise<unknown>>();
  /** Attempts the mails of `next` one after the other, in lanes, until it returns none. */
  const work = async (next: () => Promise<DueMail | undefined>, signal?: AbortSignal) => {
    let created = 0;
    const isStopped = () => closing.signal.aborted || signal?.aborted === true;
    const lane = async () => {
      while (!isStopped()) {
        const due = await next();
        if (due === undefined) return;
        await attemptMail(sender, due);
        created += 1;
      }
    };
    const lanes = Promise.allSettled(Array.from({ length: mails_at_once }, lane));
    under_way.add(lanes);
    const failed = (await lanes).find(({ status }) => status === 'rejected');
    under_way.delete(lanes);
    if (failed?.status === 'rejected') throw failed.reason;
    return created;
  };
  const write = (tx: Transaction, mails: NewMail[]) => writeMails(sender, tx, mails);
  const send = async (ids: string[], signal?: AbortSignal) => {
    try {
      // The lanes share one iterator.
      const waiting = ids.values();
      await work(() => claimFirst(sender, waiting), signal);
    } catch (error) {
      log.warn({ err: error }, 'mails could not be read from the outbox; they are sent later');
    }
  };
  return {
    write,
    post: async ({ tx, afterwards }, mails) => {
      const ids = await write(tx, mails);
      if (ids.length > 0) afterwards(async () => void send(ids));
    },
    send,
    sendDue: async (signal) =>
      mail.is_configured ? work(() => claimDue(db, clock.now()), signal) : 0,
    close: async () => {
      closing.abort();
      await Promise.all(under_way);
    },
  };
}

async function writeMails(
  { mail, log, clock, secrets }: MailSender,
  tx: Transaction,
  mails: NewMail[],
): Promise<string[]> {
  if (!mail.is_configured) {
    if (mails.length > 0) log.info('a mail is not sent: SLUICE_SMTP_URL is not set');
    return [];
  }
  const now = clock.now();
  const ids = mails.map(() => uuidv7());
  for (let first = 0; first < mails.length; first += lot_mails) {
    const lot = mails.slice(first, first + lot_mails);
    const lot_ids = ids.slice(first, first + lot_mails);
    const sealed = lot.map(({ message }, index) =>
      secrets.seal(JSON.stringify(message), mailContext(lot_ids[index]!)),
    );
    const ends = lot.map(({ link }) => isoInstant(link?.expires_at_ms ?? now + wanted_ms));
    await tx.run(sql`
      INSERT INTO mails (id, link, message_sealed, expires_at, next_attempt_at)
      SELECT written.*, ${isoInstant(now + first_attempt_ms)}::timestamptz
      FROM unnest(${lot_ids}::uuid[], ${lot.map(({ link }) => link?.name ?? null)}::text[],
        ${sealed}::bytea[], ${ends}::timestamptz[]) AS written`);
  }
  return ids;
}

/** Claims the next of these mails that nobody has claimed and that was not withdrawn. */
async function claimFirst(
  { db, clock }: MailSender,
  waiting: Iterator<string>,
): Promise<DueMail | undefined> {
  for (let next = waiting.next(); next.done !== true; next = waiting.next()) {
    const due = await db.row<DueMail>(sql`
      UPDATE mails SET attempts = 1,
        next_attempt_at = ${isoInstant(clock.now() + lease_ms)}::timestamptz
      WHERE id = ${next.value}::uuid AND attempts = 0 AND outcome = 'pending'
      RETURNING id, link, message_sealed, attempts, expires_at`);
    if (due !== undefined) return due;
  }
  return undefined;
}

/**
 * Claims the longest due mail. Skips rows that another process is claiming; a dead process's mail
 * is due again when its lease expires. Uses mails_due.
 */
function claimDue(db: Database, now: number): Promise<DueMail | undefined> {
  return db.row<DueMail>(sql`
    UPDATE mails SET attempts = attempts + 1,
      next_attempt_at = ${isoInstant(now + lease_ms)}::timestamptz
    WHERE id = (SELECT id FROM mails WHERE outcome = 'pending'
      AND next_attempt_at <= ${isoInstant(now)}::timestamptz
      ORDER BY next_attempt_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, link, message_sealed, attempts, expires_at`);
}
