import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../test/eventually.ts';
import {
  mailMessage,
  openLoggedMail,
  openRelay,
  secret_url,
  short_bounds,
} from '../../../test/watchers/logged_mail.ts';
import { openMailServer } from '../../../test/servers/mail_server.ts';
import type { MailFault } from '../../../test/servers/mail_server.ts';

const warn = 40;
// The delay that a busy machine may add.
const slack_milliseconds = 30_000;

const faults: { fault: MailFault; code: string | RegExp; status?: number }[] = [
  { fault: 'refuse', code: 'EPROTOCOL', status: 554 },
  { fault: 'hang', code: 'ETIMEDOUT' },
  { fault: 'drop', code: /^(ECONNECTION|ECONNRESET)$/ },
  { fault: 'reject_recipient', code: 'EENVELOPE', status: 550 },
  { fault: 'reject_message', code: 'EMESSAGE', status: 554 },
  { fault: 'hang_after', code: /^(EABORT|ETIMEDOUT)$/ },
  { fault: 'drop_during', code: /^(ECONNECTION|ECONNRESET|EPIPE)$/ },
];

for (const { fault, code, status } of faults) {
  test(
    'a relay that does this gives false in bounded time, and the next mail goes out again: ' +
      fault,
    async (t) => {
      const server = await openRelay(t);
      const { mail, lines } = openLoggedMail(t, server.url, { bounds: short_bounds });
      server.setFault(fault);
      const start = performance.now();
      assert.equal(await mail.send(mailMessage()), false);
      assert.ok(performance.now() - start < short_bounds.send_milliseconds + slack_milliseconds);
      assert.deepEqual(
        [lines.length, lines[0]?.level, lines[0]?.['smtp_status']],
        [1, warn, status],
      );
      assert.match(String(lines[0]?.['code']), new RegExp(code));
      assert.match(String(lines[0]?.msg), /^The mail relay /);
      assert.doesNotMatch(JSON.stringify(lines), /reset|ZXh0|grace|Somebody|Your password/);
      server.setFault(undefined);
      assert.equal(await mail.send(mailMessage()), true);
      assert.equal(server.mails.length, 1);
    },
  );
}

test('a host without a relay gives false', async (t) => {
  const server = await openMailServer();
  await server.close();
  const { mail, lines } = openLoggedMail(t, server.url);
  assert.equal(await mail.send(mailMessage()), false);
  assert.equal(lines[0]?.['code'], 'ECONNREFUSED');
  assert.match((await mail.check()) ?? '', /cannot be reached/);
  const unknown = openLoggedMail(t, 'smtp://relay.invalid', { bounds: short_bounds });
  assert.equal(await unknown.mail.send(mailMessage()), false);
  assert.equal(unknown.lines[0]?.level, warn);
});

test('the log repeats no mail and no password from the relay', async (t) => {
  const login = { user: 'sluice', password: 'open sesame' };
  const server = await openRelay(t, { login });
  const { mail, lines } = openLoggedMail(t, server.url);
  const coded = Buffer.from(login.password).toString('base64');
  server.setFault(
    'reject_message',
    `Spam: ${secret_url} for grace@example.org, said (open sesame) or ${coded} or ` +
      `${secret_url.split('/').at(-1)}`,
  );
  assert.equal(await mail.send(mailMessage()), false);
  assert.equal(
    lines[0]?.['detail'],
    '554 Spam: [hidden] for [hidden] said ([hidden]) or [hidden] or [hidden]',
  );
  assert.doesNotMatch(JSON.stringify(lines), /sesame|ZXh0|grace/);
  assert.ok(!JSON.stringify(lines).includes(coded));
});

test('without a relay every mail gives false, and the log says why', async (t) => {
  const { mail, lines } = openLoggedMail(t, undefined);
  assert.equal(mail.is_configured, false);
  assert.equal(await mail.send(mailMessage()), false);
  assert.equal(await mail.check(), undefined);
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ['a mail was not sent: SLUICE_SMTP_URL is not set'],
  );
});

test('closing waits for the mails in progress, and leaves no connection', async (t) => {
  const server = await openRelay(t);
  const { mail } = openLoggedMail(t, server.url);
  const sends = Array.from({ length: 40 }, (_, index) =>
    mail.send(mailMessage({ to: `reader${index}@example.org` })),
  );
  const late = mail.close().then(() => mail.send(mailMessage({ to: 'late@example.org' })));
  assert.deepEqual(
    await Promise.all(sends),
    sends.map(() => true),
  );
  assert.equal(await late, false);
  assert.equal(new Set(server.mails.map(({ to }) => to[0])).size, 40);
  await eventually('connections are left', () => server.connections() === 0);
});

test('closing does not wait longer for a relay that hangs than one mail may take', async (t) => {
  const server = await openRelay(t);
  const { mail } = openLoggedMail(t, server.url, { bounds: short_bounds });
  server.setFault('hang_after');
  const sends = Array.from({ length: 8 }, () => mail.send(mailMessage()));
  const start = performance.now();
  await mail.close();
  assert.ok(performance.now() - start < short_bounds.send_milliseconds + slack_milliseconds);
  assert.deepEqual(
    await Promise.all(sends),
    sends.map(() => false),
  );
});
