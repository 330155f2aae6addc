import { Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { openMail } from '../../server/platform/mail/mail.ts';
import type { Mail, MailMessage } from '../../server/platform/mail/mail.ts';
import { compose } from '../../server/platform/mail/compose.ts';
import { openMailServer } from '../servers/mail_server.ts';
import type { MailServer } from '../servers/mail_server.ts';

/** A line of the log, as an object. */
export type LogLine = Record<string, unknown> & { level: number; msg: string };

/** The mail sender of a test and its log lines of every level. */
export type LoggedMail = { mail: Mail; lines: LogLine[] };

/** The time of the mails of `openLoggedMail`. */
export const mail_date = '2026-05-01T12:00:00.000Z';

/** An address in `messageTo` that only its reader may see. */
export const secret_url = 'https://sluice.example.com/reset/ZXh0cmVtZWx5IHNlY3JldA';

/** Times short enough to wait for, and long enough for a busy machine. */
export const short_bounds = { connect_milliseconds: 800, send_milliseconds: 1_500 };

/** Starts a relay for one test, which closes it. */
export async function openRelay(
  t: TestContext,
  options: Parameters<typeof openMailServer>[0] = {},
): Promise<MailServer> {
  const server = await openMailServer(options);
  t.after(() => server.close());
  return server;
}

/** Opens the mail sender for `url` for one test, which closes it. */
export function openLoggedMail(
  t: TestContext,
  url: string | undefined,
  options: { from?: string; bounds?: typeof short_bounds } = {},
): LoggedMail {
  const lines: LogLine[] = [];
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(JSON.parse(String(chunk)) as LogLine);
      done();
    },
  });
  const clock = { now: () => Date.parse(mail_date) };
  const mail = openMail({
    url,
    from: 'Sluice <sluice@example.com>',
    log: pino({ level: 'trace' }, sink),
    clock,
    ...options,
  });
  t.after(() => mail.close());
  return { mail, lines };
}

/** Returns a mail to grace@example.org that contains `secret_url`, with changes. */
export function mailMessage(changes: Partial<MailMessage> = {}): MailMessage {
  const content = compose({
    heading: 'Your password',
    paragraphs: ['Somebody asked for a new one.'],
    action: { label: 'Choose one', url: secret_url },
  });
  return { to: 'grace@example.org', subject: 'Your password', ...content, ...changes };
}
