import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { any_character } from '../../../test/factories/any_character.ts';
import { mailMessage, openLoggedMail, openRelay } from '../../../test/watchers/logged_mail.ts';
import { readMailbox } from './mailbox.ts';
import type { Mailbox } from './mailbox.ts';

const known_headers = [
  'from',
  'to',
  'reply-to',
  'subject',
  'message-id',
  'date',
  'auto-submitted',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
];
const pieces = [
  '.',
  'MAIL FROM:<eve@example.com>',
  '\r',
  '\n',
  '\r\n',
  '\u2028',
  '\0',
  ' ',
  '\t',
  ':',
  '<',
  '>',
  ',',
  '"',
  '=?utf-8?q?=0D=0A?=',
  'Bcc: eve@example.com',
  'eve@example.com',
];

test('no text becomes a header, a recipient or another mail', async (t) => {
  const server = await openRelay(t);
  const { mail } = openLoggedMail(t, server.url);
  const hostile = fc.oneof(
    fc.string({ unit: any_character, maxLength: 200 }),
    fc.array(fc.constantFrom(...pieces)).map((parts) => parts.join('')),
  );
  await fc.assert(
    fc.asyncProperty(hostile, hostile, async (subject, name) => {
      const before = server.mails.length;
      assert.equal(
        await mail.send(
          mailMessage({
            subject,
            reply_to: { name, address: 'ada@example.net' },
            text: `${subject}\n${name}`,
            html: name,
          }),
        ),
        true,
      );
      assert.equal(server.mails.length, before + 1);
      const { content, to } = server.mails.at(-1)!;
      assert.deepEqual(to, ['grace@example.org']);
      assert.deepEqual(
        content.replyTo?.map(({ address }) => address),
        ['ada@example.net'],
      );
      assert.deepEqual(
        content.headers.map(({ key }) => key).filter((key) => !known_headers.includes(key)),
        [],
      );
    }),
    { numRuns: 150 },
  );
});

test('a text that is not one address is refused, as recipient and as reply-to', async (t) => {
  const server = await openRelay(t);
  const { mail, lines } = openLoggedMail(t, server.url);
  const refused = [
    '',
    'grace',
    '@example.org',
    'grace@',
    'a@b@c',
    'a@example.org,b@example.org',
    'a@example.org;b@example.org',
    'a@example.org\r\nBcc: b@example.org',
    'a@example.org\nRCPT TO:<b@example.org>',
    'a@example.org>\r\nDATA',
    'Grace <grace@example.org>',
    '<grace@example.org>',
    '"a b"@example.org',
    'grace@[127.0.0.1]',
    'gra ce@example.org',
    'grace@example%2eorg',
    'grace@example/org',
    'grace@256.1.1.1',
    'grace\u200b@example.org',
    'grace\0@example.org',
  ];
  for (const address of refused) {
    assert.equal(await mail.send(mailMessage({ to: address })), false, address);
    assert.equal(
      await mail.send(mailMessage({ reply_to: { name: 'Grace', address } })),
      false,
      address,
    );
  }
  assert.deepEqual(server.mails, []);
  assert.equal(server.connections(), 0);
  assert.deepEqual(
    [...new Set(lines.map(({ msg }) => msg))],
    [
      'a mail was not sent: its recipient is not an address',
      'a mail was not sent: its reply-to is not an address',
    ],
  );
});

const senders: [string, Mailbox | undefined][] = [
  ['sluice@example.com', { name: '', address: 'sluice@example.com' }],
  [' <sluice@example.com> ', { name: '', address: 'sluice@example.com' }],
  ['Sluice <sluice@localhost>', { name: 'Sluice', address: 'sluice@localhost' }],
  [
    '"Sluice, of Example" <sluice@example.com>',
    { name: 'Sluice, of Example', address: 'sluice@example.com' },
  ],
  ['', undefined],
  ['Sluice', undefined],
  ['Sluice <>', undefined],
  ['a@example.com, b@example.com', undefined],
  ['a@example.com b@example.com', undefined],
  ['Sluice <a@example.com> b', undefined],
  ['Sluice <a@example.com\r\nBcc: b@example.com>', undefined],
  ['Team: a@example.com, b@example.com;', undefined],
];

for (const [text, mailbox] of senders) {
  test(`a mailbox, or none: ${JSON.stringify(text)}`, () =>
    assert.deepEqual(readMailbox(text), mailbox));
}
