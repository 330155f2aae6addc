import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { addMember } from '../../../test/factories/people/members.ts';
import { newPerson, trySignIn } from '../../../test/factories/people/people.ts';
import { openSecurityWorld } from '../../../test/factories/people/security.ts';
import type { Answer, TestOrganization } from '../../../test/harness.ts';
import type { UserRow } from '../users/store.ts';
import { sweepSecurityEvents } from '../../platform/http/security_log/store.ts';

const world = aroundTests(openSecurityWorld, () => prepare());
const url = ({ organization }: TestOrganization, query = '') =>
  `/api/organizations/${organization.id}/security_events/${query}`;
const numbersOf = ({ body }: Answer) => body.results.map(({ number }: any) => number);

let home: TestOrganization;
let person: UserRow;
let stranger: TestOrganization;
/** Five events of the person, a second after another: wrong passwords, and one key. */
let numbers: number[];
async function prepare(): Promise<void> {
  home = await world.harness.newOrganization();
  stranger = await world.harness.newOrganization();
  person = await newPerson(world.harness);
  await addMember(world.harness.deps, home.organization.id, person, 1);
  for (let time = 0; time < 4; time += 1) {
    await trySignIn(world.harness, person.email, { password: `wrong ${time}` });
    world.clock.pass(1_000);
  }
  const expires_at = '2020-01-01T00:00:00Z';
  const key = await world.harness.newKey(person, { expires_at });
  await world.harness.request('GET', '/api/projects/', { key });
  numbers = (await world.eventsOf(home.organization.id, home.key)).map(({ number }) => number);
  assert.equal(numbers.length, 5);
}

test('pages follow the numbers, also while events are added', async () => {
  const first = await home.ask('GET', url(home, '?limit=2'));
  const follow = (link: string) => home.ask('GET', link.replace(/^https?:\/\/[^/]+/, ''));
  const second = await follow(first.body.next);
  const third = await follow(second.body.next);
  assert.deepEqual([first, second, third].flatMap(numbersOf), numbers);
  assert.deepEqual(numbersOf(await follow(third.body.previous)), numbers.slice(2, 4));
  const oldest_first = await home.ask('GET', url(home, '?ordering=number'));
  assert.deepEqual(numbersOf(oldest_first), numbers.toReversed());
});

test('filters, alone and together', async () => {
  const { results } = (await home.ask('GET', url(home))).body;
  const at = (index: number) => encodeURIComponent(results[index].created_at);
  const cases: [string, number[]][] = [
    ['event=key_refused', numbers.slice(0, 1)],
    ['reason=wrong_password', numbers.slice(1)],
    ['event=key_refused&reason=wrong_password', []],
    [`user=${person.uuid}`, numbers],
    [`user=${home.user.uuid}`, []],
    ['ip=127.0.0.1', numbers],
    ['ip=192.0.2.1', []],
    [`after=${at(1)}`, numbers.slice(0, 2)],
    [`before=${at(1)}`, numbers.slice(2)],
    [`after_number=${numbers[2]}`, numbers.slice(0, 2)],
  ];
  for (const [query, expected] of cases)
    assert.deepEqual(numbersOf(await home.ask('GET', url(home, `?${query}`))), expected, query);
  for (const [query, attr] of [
    ['event=signed_in', 'event'],
    ['user=x', 'user'],
    ['after=yesterday', 'after'],
    ['after_number=-1', 'after_number'],
    ['ordering=created_at', 'ordering'],
    ['format=ndjson&limit=1', 'limit'],
  ] as const) {
    const { status, body } = await home.ask('GET', url(home, `?${query}`));
    assert.deepEqual([status, body.attr], [400, attr], query);
  }
});

test('a file has them all, and is read on behind a number without a gap', async () => {
  const file = await home.ask('GET', url(home, '?format=ndjson'));
  assert.equal(file.headers['content-type'], 'application/x-ndjson');
  assert.match(file.headers['content-disposition']!, /filename="security_events-.*\.ndjson"/);
  const { results } = (await home.ask('GET', url(home))).body;
  const lines = file.text.split('\n').filter((line) => line !== '');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    results,
  );
  const behind = `?format=ndjson&ordering=number&after_number=${numbers[1]}`;
  const next = await home.ask('GET', url(home, behind));
  assert.equal(JSON.parse(next.text).number, numbers[0]);
});

test('numbers grow from process to process, also when both write at once', async () => {
  const wrong = () => trySignIn(world.harness, person.email, { password: 'wrong' });
  world.clock.pass(1_000_000);
  await wrong();
  const { db } = world.harness.deps;
  let committed: number[] = [];
  const { transaction } = db;
  // Another process writes an event with an older clock while ours is about to.
  db.transaction = async (work) => {
    db.transaction = transaction;
    await db.run(sql`
      INSERT INTO security_events (number, id, organization_id, event, reason, ip, user_agent,
        method, route, request_id, count, created_at)
      SELECT max(number) + 7, gen_random_uuid(), ${home.organization.id}::uuid, 'locked_out', 'x',
        '', '', '', '', '', 1, now() FROM security_events`);
    return db.transaction(work);
  };
  committed = (await world.eventsOf(home.organization.id, home.key)).map(({ number }) => number);
  assert.equal(committed.length, 7);
  assert.deepEqual(
    committed,
    committed.toSorted((one, other) => other - one),
  );
  assert.ok(committed.every((number) => Number.isSafeInteger(number)));
});

test('owners alone read them, of their own organization, with the scope', async () => {
  for (const level of [1, 8] as const) {
    const member = await world.harness.newMember(home.organization.id, level);
    assert.equal((await member.ask('GET', url(home))).status, 403);
  }
  const narrow = await world.harness.newKey(home.user, { scopes: ['activity_log:read'] });
  assert.equal((await world.harness.request('GET', url(home), { key: narrow })).status, 200);
  const other = await world.harness.newKey(home.user, { scopes: ['organization:write'] });
  assert.equal((await world.harness.request('GET', url(home), { key: other })).status, 403);
  assert.equal((await stranger.ask('GET', url(home))).status, 404);
  assert.deepEqual(await world.eventsOf(stranger.organization.id, stranger.key), []);
});

test('a member of two organizations is in both lists, and once in their own', async () => {
  const second = await world.harness.newOrganization();
  const both = await newPerson(world.harness);
  for (const { organization } of [home, second])
    await addMember(world.harness.deps, organization.id, both, 1);
  await trySignIn(world.harness, both.email, { password: 'wrong' });
  for (const { organization, key } of [home, second])
    assert.equal((await world.eventsOf(organization.id, key, `?user=${both.uuid}`)).length, 1);
  const headers = { cookie: await world.harness.newSession(both) };
  const own = await world.harness.request('GET', '/api/users/@me/security_events/', { headers });
  assert.deepEqual(
    own.body.results.map(({ reason }: any) => reason),
    ['wrong_password'],
  );
  // A member who left stays in the list; their later events do not enter it.
  await world.harness.deps.db.run(sql`DELETE FROM members WHERE user_id = ${both.id}
    AND organization_id = ${second.organization.id}::uuid`);
  await trySignIn(world.harness, both.email, { password: 'wrong' });
  assert.equal((await world.eventsOf(second.organization.id, second.key)).length, 1);
  assert.equal(
    (await world.eventsOf(home.organization.id, home.key, `?user=${both.uuid}`)).length,
    2,
  );
});

test('they go with the organization and the person, and after 400 days', async () => {
  const gone = await world.harness.newOrganization();
  const { db } = world.harness.deps;
  const left = await newPerson(world.harness);
  await addMember(world.harness.deps, gone.organization.id, left, 1);
  await trySignIn(world.harness, left.email, { password: 'wrong' });
  await world.harness.deps.security_log.flush();
  const count = async () =>
    (await db.row<{ count: number }>(
      sql`SELECT count(*) AS count FROM security_events WHERE user_uuid = ${left.uuid}::uuid`,
    ))!.count;
  assert.equal(await count(), 2);
  await db.run(sql`DELETE FROM users WHERE id = ${left.id}`);
  assert.equal(await count(), 1);
  assert.equal(
    (await gone.ask('DELETE', `/api/organizations/${gone.organization.id}/`)).status,
    204,
  );
  assert.equal(await count(), 0);

  const day_ms = 24 * 3_600_000;
  const created = world.clock.now();
  await sweepSecurityEvents(db, created + 399 * day_ms);
  assert.ok((await world.eventsOf(home.organization.id, home.key)).length >= 7);
  await sweepSecurityEvents(db, created + 401 * day_ms);
  assert.deepEqual(
    (await world.eventsOf(home.organization.id, home.key)).filter(({ reason }) => reason !== 'x'),
    [],
  );
});

test('a file breaks off when its reader is no longer an owner', async () => {
  const busy = await world.harness.newOrganization();
  const second = await world.harness.newMember(busy.organization.id, 15);
  const { db } = world.harness.deps;
  await db.run(sql`
    INSERT INTO security_events (number, id, organization_id, event, reason, ip, user_agent, method,
      route, request_id, count, created_at)
    SELECT n, gen_random_uuid(), ${busy.organization.id}::uuid, 'locked_out', 'x', '', '', '', '',
      '', 1, now() FROM generate_series(1, 1200) n`);
  const whole = await second.ask('GET', url(busy, '?format=ndjson'));
  assert.equal(whole.text.split('\n').length, 1201);
  const { rows } = db;
  db.rows = async <Row>(statement: Parameters<typeof rows>[0]) => {
    const found = await rows<Row>(statement);
    if (statement.text.includes('FROM security_events e')) {
      db.rows = rows;
      await db.run(sql`UPDATE members SET level = 8 WHERE user_id = ${second.user.id}`);
    }
    return found;
  };
  await assert
    .rejects(second.ask('GET', url(busy, '?format=ndjson')), /destroyed|aborted|premature/i)
    .finally(() => (db.rows = rows));
});
