import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { certificate } from '../../../test/servers/certificate.ts';
import {
  mailMessage,
  mail_date,
  openLoggedMail,
  openRelay,
  secret_url,
} from '../../../test/watchers/logged_mail.ts';

const info = 30;

test('a mail arrives unchanged in both forms, with its headers', async (t) => {
  const server = await openRelay(t);
  const { mail, lines } = openLoggedMail(t, server.url);
  assert.ok(mail.is_configured);
  const sent = mailMessage({
    subject: 'Zoë lädt dich ein 🎉 — 招待状です, よろしくお願いいたします。',
    reply_to: { name: 'Zoë "Z" Müller, Ltd.', address: 'zoe@example.net' },
  });
  assert.equal(await mail.send(sent), true);
  const { from, to, content, is_encrypted } = await server.waitFor('grace@example.org');
  assert.deepEqual([from, to, is_encrypted], ['sluice@example.com', ['grace@example.org'], false]);
  assert.deepEqual(content.from, { name: 'Sluice', address: 'sluice@example.com' });
  assert.deepEqual(content.to, [{ name: '', address: 'grace@example.org' }]);
  assert.deepEqual(content.replyTo, [sent.reply_to]);
  assert.equal(content.subject, sent.subject);
  assert.equal(content.date, mail_date);
  assert.match(content.messageId ?? '', /^<[0-9a-f-]{36}@example\.com>$/);
  const { 'auto-submitted': automatic, 'x-mailer': program } = Object.fromEntries(
    content.headers.map(({ key, value }) => [key, value]),
  );
  assert.deepEqual([automatic, program], ['auto-generated', undefined]);
  assert.equal(content.text?.trimEnd(), sent.text.trimEnd());
  assert.equal(content.html?.trimEnd(), sent.html.trimEnd());
  assert.deepEqual(content.attachments, []);
  assert.deepEqual(
    lines.map(({ level, message_id }) => [level, message_id]),
    [[info, content.messageId]],
  );
});

test('any text survives the way: long lines, dots, emoji, lines of other systems', async (t) => {
  const server = await openRelay(t);
  const { mail } = openLoggedMail(t, server.url);
  const texts = [
    'x'.repeat(5_000),
    `${'word '.repeat(400)}end`,
    '.\n..\n.leading',
    '👩‍👩‍👧 日本語 עברית',
    'a\nFrom b\n>From c',
    `${secret_url}?${'q'.repeat(1_500)}`,
  ];
  for (const text of texts) {
    assert.equal(await mail.send(mailMessage({ text, html: `<p>${text}</p>` })), true);
    const { content, raw } = server.mails.at(-1)!;
    assert.equal(content.text?.trimEnd(), text);
    assert.equal(content.html?.trimEnd(), `<p>${text}</p>`);
    assert.ok(raw.split('\r\n').every((line) => line.length <= 998));
  }
  assert.equal(server.mails.length, texts.length);
});

test('internationalised addresses arrive, the domain in ASCII where the name is', async (t) => {
  const server = await openRelay(t);
  const { mail } = openLoggedMail(t, server.url, { from: '"Söder, Åsa" <asa@söder.example>' });
  for (const [to, header] of [
    ['grace@bücher.example', 'grace@xn--bcher-kva.example'],
    ['用户@例子.example', '用户@例子.example'],
  ] as const) {
    assert.equal(await mail.send(mailMessage({ to })), true);
    // The relay of the tests shows envelopes in Unicode; the header is as it came.
    const { from, content, raw } = await server.waitFor(to);
    assert.equal(from, 'asa@söder.example');
    assert.match(raw, new RegExp(`^To: ${header}\r$`, 'm'));
    assert.deepEqual(content.from, { name: 'Söder, Åsa', address: 'asa@xn--sder-5qa.example' });
    assert.match(content.messageId ?? '', /@xn--sder-5qa\.example>$/);
  }
});

test('user and password of the URL are decoded and used, and never shown', async (t) => {
  const login = { user: 'sluice@example.com', password: 'p@ss/w%rd: ✓' };
  const server = await openRelay(t, { login });
  const { mail } = openLoggedMail(t, server.url);
  assert.equal(await mail.send(mailMessage()), true);
  assert.equal(server.mails[0]?.user, login.user);
  assert.equal(await mail.check(), undefined);
  const wrong = openLoggedMail(t, server.url.replace('p%40ss', 'another'));
  assert.equal(await wrong.mail.send(mailMessage()), false);
  assert.deepEqual([wrong.lines[0]?.['code'], wrong.lines[0]?.['smtp_status']], ['EAUTH', 535]);
  assert.match((await wrong.mail.check()) ?? '', /refuses user and password/);
  assert.doesNotMatch(JSON.stringify(wrong.lines), /another|w%rd|✓/);
});

// 0.0.0.0 is this machine as well, but not by an address that stands for it: what holds for relays
// elsewhere holds for it.
const elsewhere = (url: string) => url.replace('127.0.0.1', '0.0.0.0');

for (const tls of ['starttls', 'implicit'] as const) {
  test(`TLS (${tls}): loopback takes any certificate, other hosts a trusted one`, async (t) => {
    const server = await openRelay(t, { tls });
    const near = openLoggedMail(t, server.url);
    assert.equal(await near.mail.send(mailMessage()), true);
    assert.equal(server.mails[0]?.is_encrypted, true);
    assert.equal(
      await openLoggedMail(t, server.url.replace('127.0.0.1', 'localhost')).mail.send(
        mailMessage(),
      ),
      true,
    );
    const far = openLoggedMail(t, elsewhere(server.url));
    assert.equal(await far.mail.send(mailMessage()), false);
    assert.equal(far.lines[0]?.['code'], 'DEPTH_ZERO_SELF_SIGNED_CERT');
    assert.match((await far.mail.check()) ?? '', /certificate of the mail relay is not trusted/);
    const trusted = getCACertificates('default');
    setDefaultCACertificates([...trusted, certificate]);
    t.after(() => setDefaultCACertificates(trusted));
    assert.equal(await far.mail.send(mailMessage()), false);
    assert.equal(far.lines[1]?.['code'], 'ERR_TLS_CERT_ALTNAME_INVALID');
    assert.equal(server.mails.length, 2);
  });
}

test('a password needs TLS beyond the machine; a plain relay needs none', async (t) => {
  const login = { user: 'sluice', password: 'open sesame' };
  const closed = await openRelay(t, { login });
  const { mail, lines } = openLoggedMail(t, elsewhere(closed.url));
  assert.equal(await mail.send(mailMessage()), false);
  assert.equal(lines[0]?.['code'], 'ETLS');
  assert.deepEqual(closed.logins, []);
  const open = await openRelay(t);
  assert.equal(await openLoggedMail(t, elsewhere(open.url)).mail.send(mailMessage()), true);
});

test('a setting that cannot be used is refused when the way out is created', (t) => {
  assert.throws(
    () => openLoggedMail(t, undefined, { from: 'Sluice' }),
    /The sender of mails must be one address/,
  );
  assert.throws(() => openLoggedMail(t, 'smtp://'), /must name a host/);
});
