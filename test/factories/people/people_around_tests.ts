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

/** The relay for its mails; only set with `mail`. */
export let server: MailServer;

/**
 * Opens the exports of this file before the tests of the file that calls it, and closes them after.
 * It forgets failed sign-ins before each test. Each test file calls it itself, because hooks of an
 * imported module may run before its tests.
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

/** A body of a failing sign-in. */
export const wrong = { password: 'another password' };

/** Returns the status of an answer, or the wait that it names. */
export const outcome = (answer: Answer) =>
  answer.status === 429 ? `wait ${answer.headers['retry-after']}` : answer.status;

/** Signs in with a wrong password this many times. */
export async function failTimes(times: number, email: string): Promise<void> {
  for (let time = 0; time < times; time += 1)
    assert.equal((await trySignIn(harness, email, wrong)).status, 401);
}
