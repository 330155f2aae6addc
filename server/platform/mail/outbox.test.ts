import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { after, before, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { openTestStores } from '../../../test/harness_stores.ts';
import type { TestStores } from '../../../test/harness_stores.ts';
import { openMailServer } from '../../../test/servers/mail_server.ts';
import type { MailServer } from '../../../test/servers/mail_server.ts';
import { mailMessage, secret_url } from '../../../test/watchers/logged_mail.ts';
import { silentLog } from '../log.ts';
import { openDatabase } from '../postgres/database.ts';
import type { Database } from '../postgres/database.ts';
import { openSecrets } from '../secrets/secrets.ts';
import { openMail } from './mail.ts';
import type { Mail } from './mail.ts';
import { openOutbox } from './outbox.ts';
import type { MailedLink, Outbox } from './outbox.ts';
import { sweepMails } from './sweep_mails.ts';

const program = fileURLToPath(new URL('../../../test/processes/mail_process.ts', import.meta.url));
const secret_key = 'a secret that only this test has, 32 or more';
const hour_ms = 3_600_000;
let now = Date.now();
const clock = { now: () => now };

let stores: TestStores;
let db: Database;
let relay: MailServer;
let mail: Mail;
let taken: string[] = [];
before(async () => {
  stores = await openTestStores({ clickhouse: false });
  db = openDatabase(stores.database_url, { connections_max: 12, application_name: 'test' });
  relay = await openMailServer();
  mail = openMail({ url: relay.url, from: 'sluice@example.com', log: silentLog(), clock });
});
after(async () => {
  await mail.close();
  await relay.close();
  await db.close();
  await stores.close();
});
beforeEach(async () => {
  relay.setFault(undefined);
  taken = [];
  await db.run(sql`DELETE FROM mails`);
});

const openProcess = (key = secret_key): Outbox =>
  openOutbox({
    db,
    clock,
    log: silentLog(),
    secrets: openSecrets(key),
    mail,
    onTaken: async (_tx, link) => taken.push(link),
  });
const newAddress = () => `${randomUUID()}@example.org`;
const write = (outbox: Outbox, to: string, link?: MailedLink) =>
  db.transaction((tx) =>
    outbox.write(tx, [{ message: mailMessage({ to }), ...(link === undefined ? {} : { link }) }]),
  );
const arrived = (to: string) => relay.mails.filter((one) => one.to.includes(to));
type Row = { outcome: string; attempts: number; is_kept: boolean; next_attempt_at: string | null };
const rowOf = async (id: string) =>
  (await db.row<Row>(sql`
    SELECT outcome, attempts, message_sealed IS NOT NULL AS is_kept, next_attempt_at FROM mails
    WHERE id = ${id}::uuid`))!;

test('a mail goes out when its transaction is committed, once, whoever sends', async () => {
  const outboxes = [openProcess(), openProcess(), openProcess()];
  const to = newAddress();
  const ids = await write(outboxes[0]!, to, { name: 'thing:1', expires_at_ms: now + hour_ms });
  await assert.rejects(
    db.transaction(async (tx) => {
      await outboxes[0]!.write(tx, [{ message: mailMessage({ to }) }]);
      throw new Error('rolled back');
    }),
  );
  assert.equal(await outboxes[1]!.sendDue(), 0, 'it is left to the process that wrote it');
  now += 10_000;
  await Promise.all(
    outboxes.flatMap((outbox) => [outbox.send(ids), outbox.sendDue(), outbox.sendDue()]),
  );
  assert.equal(arrived(to).length, 1);
  assert.equal(arrived(to)[0]!.content.messageId, `<${ids[0]}@example.com>`);
  assert.deepEqual(await rowOf(ids[0]!), {
    outcome: 'sent',
    attempts: 1,
    is_kept: false,
    next_attempt_at: null,
  });
  assert.deepEqual(taken, ['thing:1']);
});

test('a stored mail cannot be read, and another key does not send it', async () => {
  const to = newAddress();
  const [id = ''] = await write(openProcess(), to);
  const { kept } = (await db.row<{ kept: Buffer }>(
    sql`SELECT message_sealed AS kept FROM mails WHERE id = ${id}::uuid`,
  ))!;
  for (const secret of [to, secret_url, 'password']) assert.ok(!kept.includes(secret), secret);
  await openProcess('another secret that only this test has').send([id]);
  assert.deepEqual([arrived(to).length, (await rowOf(id)).outcome], [0, 'pending']);
  now += 6_000;
  assert.equal(await openProcess().sendDue(), 1);
  assert.equal(arrived(to).length, 1);
});

test('a relay that is away is retried after growing pauses, for about a day', async () => {
  const outbox = openProcess();
  const to = newAddress();
  const [id = ''] = await write(outbox, to);
  relay.setFault('reject_message');
  const began = now;
  await outbox.send([id]);
  for (let attempts = 1; attempts <= 27; attempts += 1) {
    const row = await rowOf(id);
    assert.deepEqual([row.outcome, row.attempts, row.is_kept], ['pending', attempts, true]);
    now = Date.parse(row.next_attempt_at!) - 1;
    assert.equal(await outbox.sendDue(), 0);
    now += 1;
    assert.equal(await outbox.sendDue(), 1);
  }
  assert.deepEqual(await rowOf(id), {
    outcome: 'given_up',
    attempts: 28,
    is_kept: false,
    next_attempt_at: null,
  });
  assert.ok(now - began > 22 * hour_ms && now - began < 26 * hour_ms);
  relay.setFault(undefined);
  now += 48 * hour_ms;
  assert.deepEqual([await outbox.sendDue(), arrived(to).length, taken], [0, 0, []]);
});

test('an expired mail is not sent, neither late nor by another attempt', async () => {
  const outbox = openProcess();
  const link = () => ({ name: 'thing:2', expires_at_ms: now + hour_ms });
  const [late = ''] = await write(outbox, newAddress(), link());
  now += hour_ms;
  assert.equal(await outbox.sendDue(), 1);
  assert.deepEqual([(await rowOf(late)).outcome, (await rowOf(late)).is_kept], ['given_up', false]);
  const [refused = ''] = await write(outbox, newAddress(), link());
  relay.setFault('reject_recipient');
  const end = now + hour_ms;
  for (await outbox.send([refused]); (await rowOf(refused)).outcome === 'pending';) {
    now = Date.parse((await rowOf(refused)).next_attempt_at!);
    await outbox.sendDue();
  }
  assert.ok(now < end);
  assert.deepEqual(taken, []);
});

for (const [moment, then] of [
  ['between its commit and the sending', 'hold'],
  ['while the relay takes the mail', 'send'],
] as const)
  test(`kill -9 of a process ${moment}: another one sends the mail`, async () => {
    const to = newAddress();
    relay.setFault('hang_after');
    const args = [program, stores.database_url, relay.url, secret_key, to, then];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    while (then === 'send' && relay.connections() === 0) await new Promise(setImmediate);
    child.kill('SIGKILL');
    await once(child, 'exit');
    relay.setFault(undefined);
    const outbox = openProcess();
    now = Date.now();
    assert.equal(await outbox.sendDue(), 0);
    now += 61_000;
    assert.equal(await outbox.sendDue(), 1);
    assert.equal(arrived(to).length, 1);
    assert.equal(await outbox.sendDue(), 0);
  });

test('a process that stops begins no further mail, and waits for those it has begun', async () => {
  const outbox = openProcess();
  const addresses = Array.from({ length: 8 }, newAddress);
  const ids = await db.transaction((tx) =>
    outbox.write(
      tx,
      addresses.map((to) => ({ message: mailMessage({ to }) })),
    ),
  );
  const sending = outbox.send(ids);
  await outbox.close();
  const out = addresses.filter((to) => arrived(to).length === 1).length;
  assert.ok(out <= 3, `${out}`);
  await sending;
  now += 10_000;
  assert.equal(await openProcess().sendDue(), 8 - out);
  assert.deepEqual(
    addresses.map((to) => arrived(to).length),
    addresses.map(() => 1),
  );
});

test('mails are removed 7 days after their end', async () => {
  const outbox = openProcess();
  const [id = ''] = await write(outbox, newAddress(), {
    name: 'thing:3',
    expires_at_ms: now + hour_ms,
  });
  await outbox.send([id]);
  const count = async () => (await db.rows(sql`SELECT 1 FROM mails`)).length;
  now += hour_ms + 7 * 24 * hour_ms;
  await sweepMails({ db, clock });
  assert.equal(await count(), 1);
  now += 1;
  await sweepMails({ db, clock });
  assert.equal(await count(), 0);
});
