import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import { silentLog } from '../../../server/platform/log.ts';
import { openMail } from '../../../server/platform/mail/mail.ts';
import { openHarness } from '../../harness.ts';
import type { Answer, Harness } from '../../harness.ts';
import { openMailServer } from '../../servers/mail_server.ts';
import type { MailServer } from '../../servers/mail_server.ts';
import { forgetAllAttempts, openTestClock, trySignIn } from './people.ts';
import type { TestClock } from './people.ts';

/** Opened before the tests of the file that imports it, and closed after them. */
export let harness: Harness;

/** The clock of the harness. */
export let clock: TestClock;

/** The relay that takes its mails; exists with `mail` alone. */
export let server: MailServer;

/**
 * Opens what this file exports before the tests of the file that calls it, and closes it after
 * them. Before each test no try to sign in counts any more. Called by each test file itself: hooks
 * of an imported module may run before its tests.
 */
export function openAroundTests(with_mail?: 'mail'): void {
  before(async () => {
    clock = openTestClock();
    if (with_mail === undefined) {
      harness = await openHarness({ clickhouse: false, deps: { clock } });
      return;
    }
    server = await openMailServer();
    const from = 'Sluice <sluice@example.com>';
    const mail = openMail({ url: server.url, from, log: silentLog(), clock });
    harness = await openHarness({ clickhouse: false, deps: { clock, mail } });
  });
  after(async () => {
    await harness.close();
    if (with_mail !== undefined) await server.close();
  });
  beforeEach(() => forgetAllAttempts(harness));
}

/** A body that makes a sign-in fail. */
export const wrong = { password: 'another password' };

/** The status of an answer, or how long it says to wait. */
export const outcome = (answer: Answer) =>
  answer.status === 429 ? `wait ${answer.headers['retry-after']}` : answer.status;

/** Signs in with a wrong password so many times. */
export async function failTimes(times: number, email: string): Promise<void> {
  for (let time = 0; time < times; time += 1)
    assert.equal((await trySignIn(harness, email, wrong)).status, 401);
}
