import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { openMail } from '../../../server/platform/mail/mail.ts';
import { openHarness } from '../../harness.ts';
import type { Harness } from '../../harness.ts';
import { openMailServer } from '../../servers/mail_server.ts';
import type { MailServer } from '../../servers/mail_server.ts';
import { openTestClock } from './people.ts';
import type { TestClock } from './people.ts';

/** A line of the server's log about a security event. */
export type SecurityLine = Record<string, unknown> & { security_event: string; msg: string };

/** A server with a readable log, a mail relay of the test, and a clock that stands still. */
export type SecurityWorld = {
  harness: Harness;
  clock: TestClock;
  mail: MailServer;
  /** The lines of security events since the last call, oldest first. */
  lines(): SecurityLine[];
  /** All lines of the log, as text. */
  logged(): string;
  /** The events in the organization's list, newest first, as this key reads them. */
  eventsOf(organization_id: string, key: string, query?: string): Promise<Record<string, any>[]>;
  close(): Promise<void>;
};

/** Opens the server. */
export async function openSecurityWorld(): Promise<SecurityWorld> {
  const clock = openTestClock();
  const mail = await openMailServer();
  let lines: SecurityLine[] = [];
  let logged = '';
  const write = (chunk: Buffer, _encoding: string, done: () => void) => {
    logged += String(chunk);
    const line = JSON.parse(String(chunk)) as SecurityLine;
    if (line.security_event !== undefined) lines.push(line);
    done();
  };
  const log = pino({ level: 'trace' }, new Writable({ write }));
  const from = 'Sluice <sluice@example.com>';
  const harness = await openHarness({
    clickhouse: false,
    deps: { clock, log, mail: openMail({ url: mail.url, from, log, clock }) },
  });
  return {
    harness,
    clock,
    mail,
    lines: () => {
      const told = lines;
      lines = [];
      return told;
    },
    logged: () => logged,
    eventsOf: async (organization_id, key, query = '') => {
      await harness.deps.security_log.flush();
      const path = `/api/organizations/${organization_id}/security_events/${query}`;
      const { status, body, text } = await harness.request('GET', path, { key });
      assert.equal(status, 200, text);
      return body.results;
    },
    close: async () => {
      await harness.close();
      await mail.close();
    },
  };
}
