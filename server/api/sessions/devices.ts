import type { FastifyReply, FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import { isoInstant } from '../../platform/clock.ts';
import { compose } from '../../platform/mail/compose.ts';
import { oneLine } from '../../platform/mail/plain_text.ts';
import type { MailMessage } from '../../platform/mail/mail.ts';
import {
  createDeviceToken,
  device_kept_ms,
  deviceTokenOf,
  setDeviceCookie,
} from '../../platform/http/caller/device.ts';
import { noteSecurity } from '../../platform/http/security_log/note_security.ts';
import type { Afterwards } from '../../platform/http/write.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import type { SessionRow } from './schema.ts';

const day_ms = 24 * 3_600_000;
/** Most known devices of a person; the one unused for longest is forgotten first. */
const devices_max = 50;
/** Most mails about new devices to a person in 24 hours. */
const mails_a_day_max = 5;

type Seen = { known: number; of_a_day: number; is_new: boolean };

/**
 * Remembers the browser in which the person signs in, by a separate cookie. A new browser causes a
 * mail to the person and an entry in the security log, except for the first browser of an account.
 */
export async function rememberDevice(
  tx: Transaction,
  browser: { request: FastifyRequest; reply: FastifyReply; afterwards: Afterwards },
  user: { id: number },
  session: SessionRow,
): Promise<void> {
  const { request, reply, afterwards } = browser;
  const { context } = request.server;
  const now = context.clock.now();
  const token = deviceTokenOf(request) ?? createDeviceToken();
  const { known, of_a_day, is_new } = await see(
    tx,
    user.id,
    context.secrets.hash(`device ${user.id} ${token}`),
    now,
  );
  const person = await tx.row<{ id: number; uuid: string; email: string }>(
    sql`SELECT id, uuid, email FROM users WHERE id = ${user.id}`,
  );
  if (is_new && known > 0 && of_a_day < mails_a_day_max)
    await context.outbox.post({ tx, afterwards }, [
      { message: newDeviceMail(person!.email, session, context.config.public_url) },
    ]);
  afterwards(async () => {
    setDeviceCookie(context, reply, token, now + device_kept_ms);
    request.concerned = { person };
    noteSecurity(request, { event: 'signed_in', reason: session.method });
    if (is_new && known > 0) noteSecurity(request, { event: 'new_device', reason: session.method });
  });
}

/** Records that the person uses the device; `known` is the number of earlier ones. */
async function see(tx: Transaction, user_id: number, hash: Buffer, now: number): Promise<Seen> {
  const moment = isoInstant(now);
  const seen = await tx.row<Seen>(sql`
    WITH before AS (SELECT count(*)::integer AS known,
        count(*) FILTER (WHERE first_seen_at > ${isoInstant(now - day_ms)}::timestamptz)::integer
          AS of_a_day,
        count(*) FILTER (WHERE device_hash = ${hash}) = 0 AS is_new
      FROM sign_in_devices WHERE user_id = ${user_id}),
    noted AS (INSERT INTO sign_in_devices (user_id, device_hash, first_seen_at, last_seen_at)
      VALUES (${user_id}, ${hash}, ${moment}::timestamptz, ${moment}::timestamptz)
      ON CONFLICT (user_id, device_hash) DO UPDATE SET last_seen_at = EXCLUDED.last_seen_at)
    SELECT known, of_a_day, is_new FROM before`);
  if (seen!.known >= devices_max)
    await tx.run(sql`
      DELETE FROM sign_in_devices WHERE user_id = ${user_id} AND device_hash IN (
        SELECT device_hash FROM sign_in_devices WHERE user_id = ${user_id}
          ORDER BY last_seen_at DESC, device_hash OFFSET ${devices_max})`);
  return seen!;
}

function newDeviceMail(
  to: string,
  { created_at, ip, user_agent, method }: SessionRow,
  public_url: string,
): MailMessage {
  const heading = 'New sign-in to your account';
  // Anybody can choose the name of a browser.
  const browser = user_agent === '' ? 'a browser without a name' : oneLine(user_agent);
  return {
    to,
    subject: heading,
    ...compose({
      heading,
      paragraphs: [
        `Somebody signed in to the Sluice account ${to} from a new browser.`,
        `Time: ${created_at}\nAddress: ${ip}\nBrowser: ${browser}\nBy: ${method}`,
        'If this was you, you need to do nothing. If not, change your password and end the ' +
          'session at once.',
      ],
      action: { label: 'See your sessions', url: `${public_url}/account` },
      footer: 'You get this mail because you have an account on this Sluice server.',
    }),
  };
}
