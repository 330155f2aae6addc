import { after, before } from 'node:test';
import { sendDueNotices } from '../../server/engine/notices/send.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openMail } from '../../server/platform/mail/mail.ts';
import type { Mail } from '../../server/platform/mail/mail.ts';
import { openHarness } from '../harness.ts';
import type { Harness } from '../harness.ts';
import { openWebhook } from './notices.ts';
import { openHttpReceiver } from '../servers/http_receiver.ts';
import type { HttpReceiver } from '../servers/http_receiver.ts';
import { openMailServer } from '../servers/mail_server.ts';
import type { MailServer } from '../servers/mail_server.ts';

/** Opened before the tests of the file that imports it, and closed after them. */
export let harness: Harness;

/** Receives the requests of webhooks. */
export let receiver: HttpReceiver;

/** Receives the server's mails. */
export let relay: MailServer;

/**
 * Opens the exports of this file before the tests of the file that calls it, and closes them after;
 * `now` is the clock of the server. Each test file calls it itself, because hooks of an imported
 * module may run before its tests.
 */
export function openAroundTests(now: () => number): void {
  before(async () => {
    [receiver, relay] = await Promise.all([openHttpReceiver({}), openMailServer()]);
    const clock = { now };
    const from = 'Sluice <sluice@example.com>';
    const mail = openMail({ url: relay.url, from, log: silentLog(), clock });
    harness = await openHarness({ clickhouse: false, deps: { clock, mail } });
  });
  after(async () => {
    await harness.close();
    await Promise.all([relay.close(), receiver.close()]);
  });
}

/** Sends what is due, like a worker. */
export const send = (
  options: Parameters<typeof sendDueNotices>[1] = {},
  mail: Mail = harness.deps.mail,
) => sendDueNotices({ ...harness.deps, mail, public_url: harness.deps.config.public_url }, options);

/** An organization whose export has a webhook at `receiver`. */
export const withWebhook = (fields: Record<string, unknown> = {}) =>
  openWebhook(harness, receiver, fields);
