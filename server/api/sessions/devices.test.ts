import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { eventually } from '../../../test/eventually.ts';
import { addMember } from '../../../test/factories/people/members.ts';
import { newPerson, trySignIn } from '../../../test/factories/people/people.ts';
import { openSecurityWorld } from '../../../test/factories/people/security.ts';
import type { Answer } from '../../../test/harness.ts';
import { sweepPeople } from '../users/sweep.ts';
import type { UserRow } from '../users/store.ts';

const world = aroundTests(openSecurityWorld);
const day_ms = 24 * 3_600_000;

const cookieOf = (answer: Answer) =>
  [answer.headers['set-cookie'] ?? []].flat().find((one) => one.startsWith('sluice_device='))!;
/** Signs in at a browser that shows this device, and gives the one that it has afterwards. */
async function signIn(user: UserRow, device?: string, user_agent = 'Firefox'): Promise<string> {
  const answer = await trySignIn(
    world.harness,
    user.email,
    {},
    {
      'user-agent': user_agent,
      ...(device === undefined ? {} : { cookie: device }),
    },
  );
  assert.equal(answer.status, 201, answer.text);
  return cookieOf(answer).split(';')[0]!;
}
const mailsTo = (user: UserRow) => world.mail.mails.filter(({ to }) => to.includes(user.email));
const mailed = (user: UserRow, count: number) =>
  eventually(`${count} mails did not come`, () => {
    const mails = mailsTo(user);
    return mails.length === count && mails;
  });
/** Another person's mail has come: so has every one that was written before. */
async function settle(): Promise<void> {
  const last = await newPerson(world.harness);
  await signIn(last);
  await signIn(last);
  await mailed(last, 1);
}

test('the first browser is silent, a new one is mailed, a known one is not', async () => {
  const user = await newPerson(world.harness);
  const first = await signIn(user);
  assert.equal(await signIn(user, first), first);
  const second = await signIn(user, undefined, 'Chrome\r\n of <b>somebody</b>'.replace('\r\n', ''));
  assert.notEqual(second, first);
  const [mail] = await mailed(user, 1);
  assert.equal(mail!.content.subject, 'New sign-in to your account');
  const text = mail!.content.text ?? '';
  for (const part of ['Address: 127.0.0.1', 'Browser: Chrome of <b>somebody</b>', 'By: password'])
    assert.ok(text.includes(part), part);
  assert.ok(text.includes(`${world.harness.deps.config.public_url}/account`));
  await signIn(user, first);
  await signIn(user, second);
  await settle();
  assert.equal(mailsTo(user).length, 1);
});

test('scripts cannot read the cookie; it lasts 400 days and is kept as an HMAC', async () => {
  const user = await newPerson(world.harness);
  const set = cookieOf(await trySignIn(world.harness, user.email));
  assert.match(
    set,
    /^sluice_device=sld_[0-9A-Za-z]{43}; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/,
  );
  const expires = Date.parse(/Expires=([^;]+)/.exec(set)![1]!);
  assert.equal((expires - world.clock.now()) / day_ms, 400);
  const token = set.slice('sluice_device='.length).split(';')[0]!;
  const rows = await world.harness.deps.db.rows<{ row: string }>(
    sql`SELECT d::text AS row FROM sign_in_devices d`,
  );
  assert.ok(rows.every(({ row }) => !row.includes(token)));
  assert.ok(!world.logged().includes(token));
});

test('each person knows a device apart; a cookie that is no token is replaced', async () => {
  const [one, other] = [await newPerson(world.harness), await newPerson(world.harness)];
  const shared = await signIn(one);
  await signIn(other);
  // Somebody else's browser is new to this account.
  assert.equal(await signIn(other, shared), shared);
  await mailed(other, 1);
  const { db } = world.harness.deps;
  const hashes = await db.rows(sql`SELECT DISTINCT device_hash FROM sign_in_devices
    WHERE user_id IN (${one.id}, ${other.id})`);
  assert.equal(hashes.length, 3);
  assert.match(await signIn(one, 'sluice_device=mine'), /^sluice_device=sld_/);
  await mailed(one, 1);
});

test('owners and the person see the new device; five mails a day at most', async () => {
  const home = await world.harness.newOrganization();
  const user = await newPerson(world.harness);
  await addMember(world.harness.deps, home.organization.id, user, 1);
  await signIn(user);
  world.clock.pass(day_ms);
  for (let time = 0; time < 7; time += 1) await signIn(user);
  await mailed(user, 5);
  await settle();
  assert.equal(mailsTo(user).length, 5);
  const events = await world.eventsOf(home.organization.id, home.key);
  assert.deepEqual(
    events.map(({ event, reason, user: { uuid } }) => [event, reason, uuid]),
    Array.from({ length: 7 }, () => ['new_device', 'password', user.uuid]),
  );
  world.clock.pass(day_ms);
  await signIn(user);
  await mailed(user, 6);
});

test('a person has fifty known devices at most, each for 400 days', async () => {
  const user = await newPerson(world.harness);
  const { db } = world.harness.deps;
  const known = async () =>
    (await db.row<{ count: number }>(
      sql`SELECT count(*) AS count FROM sign_in_devices WHERE user_id = ${user.id}`,
    ))!.count;
  const first = await signIn(user);
  await db.run(sql`
    INSERT INTO sign_in_devices (user_id, device_hash, first_seen_at, last_seen_at)
    SELECT ${user.id}, decode(md5(n::text), 'hex'), '2020-01-01', '2020-01-01'::timestamptz
      + n * interval '1 minute' FROM generate_series(1, 60) n`);
  await signIn(user, first);
  assert.equal(await known(), 50);
  await sweepPeople(world.harness.deps);
  assert.equal(await known(), 1);
  world.clock.pass(401 * day_ms);
  await sweepPeople(world.harness.deps);
  assert.equal(await known(), 0);
});

test('a sign-in that is refused or rolled back remembers nothing', async () => {
  const user = await newPerson(world.harness);
  const refused = await trySignIn(world.harness, user.email, { password: 'wrong password here' });
  assert.equal(cookieOf(refused), undefined);
  const checked = await world.harness.request('POST', '/api/sessions/?validate_only=true', {
    body: { email: user.email, password: 'tidal lamp orchid crust' },
  });
  assert.equal(checked.status, 200);
  assert.equal(cookieOf(checked), undefined);
  const { db } = world.harness.deps;
  const rows = await db.rows(sql`SELECT 1 FROM sign_in_devices WHERE user_id = ${user.id}`);
  assert.equal(rows.length, 0);
});
