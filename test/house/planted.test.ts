import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openHarness } from '../harness.ts';
import type { Harness } from '../harness.ts';
import { password } from '../factories/people/people.ts';
import { watchSecrets } from '../watchers/planted.ts';

const seed = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
const token = 'Q'.repeat(43);
const key = `slk_${'k'.repeat(49)}`;
const hex = (text: string) => Buffer.from(text).toString('hex');

let harness: Harness;
before(async () => {
  harness = await openHarness({ clickhouse: false });
  await harness.deps.db.text(
    'CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.kept (text text, json jsonb, bytes bytea)',
  );
});
after(() => harness.close());

/** The leaks: their source, and the row that holds the text, with its column. */
const leaks: [
  string,
  { sent?: unknown; answered?: unknown; cookies?: string[] },
  [string, string],
][] = [
  ['a password in a text', { sent: { password } }, ['text', `a line with ${password}`]],
  [
    'a password inside of a list of bodies',
    { sent: { invites: [{ password }] } },
    ['json', JSON.stringify({ deep: [password] })],
  ],
  ['a seed in base 32', { answered: { secret: seed } }, ['text', seed]],
  [
    'a seed as bytes',
    { answered: { secret: seed } },
    ['bytes', '\\x48656c6c6f21deadbeef48656c6c6f21deadbeef'],
  ],
  [
    'a token of a link',
    { answered: { link: `https://sluice.example.com/invite/1?token=${token}` } },
    ['bytes', `\\x${hex(token)}`],
  ],
  [
    'a recovery code without its hyphen',
    { answered: { recovery_codes: ['ABCDE-FGHIJ'] } },
    ['text', 'ABCDEFGHIJ'],
  ],
  ['the value of a cookie', { cookies: [`sluice_session=${token}; Path=/`] }, ['text', token]],
  ['a key that no test has seen', {}, ['json', JSON.stringify({ key })]],
];
for (const [name, { sent, answered, cookies = [] }, [column, text]] of leaks)
  test(`found in the database: ${name}`, async () => {
    const watched = watchSecrets();
    watched.see(sent, answered, cookies);
    await watched.search(harness.deps.db);
    await harness.deps.db.text(`INSERT INTO elsewhere.kept (${column}) VALUES ('${text}')`);
    try {
      await assert.rejects(watched.search(harness.deps.db), /elsewhere\.kept holds a/);
    } finally {
      await harness.deps.db.text('DELETE FROM elsewhere.kept');
    }
  });

test('found in a row that was seen before without it; forgotten two searches on', async () => {
  const { db } = harness.deps;
  const watched = watchSecrets();
  await db.text("INSERT INTO elsewhere.kept (text) VALUES ('nothing')");
  try {
    await watched.search(db);
    watched.see({ token }, undefined, []);
    await db.text(`UPDATE elsewhere.kept SET text = '${token}'`);
    await assert.rejects(watched.search(db), /elsewhere\.kept holds a secret/);
    await db.text("UPDATE elsewhere.kept SET text = 'nothing'");
    await watched.search(db);
    await db.text(`UPDATE elsewhere.kept SET text = '${token}'`);
    await watched.search(db);
  } finally {
    await db.text('DELETE FROM elsewhere.kept');
  }
});

test('found in a line of the log, of every level', async () => {
  for (const level of ['trace', 'debug', 'info', 'warn', 'error'] as const) {
    const watched = watchSecrets();
    watched.see({ token }, undefined, []);
    watched.log[level]({ deep: { link: token } }, 'a line');
    await assert.rejects(watched.search(harness.deps.db), /the log line .* holds a secret/s);
  }
});
