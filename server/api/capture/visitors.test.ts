import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { storedEvents, storedPeople } from '../../../test/factories/events/stored_events.ts';
import type { StoredEvent } from '../../../test/factories/events/stored_events.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { openVisitorSalts, sweepVisitorSalts } from './visitor_salts.ts';

const noon = Date.parse('2031-05-06T12:00:00Z');
const day_ms = 86_400_000;
let now = noon;
let harness: Harness;
let shop: TestOrganization;
before(async () => {
  const config = { trusted_proxies: ['127.0.0.1'] };
  harness = await openHarness({ config, deps: { clock: { now: () => now } } });
  shop = await harness.newOrganization();
});
after(() => harness.close());

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
/** The fields that posthog-js sends for a person whose data it may not keep. */
const anybody = { distinct_id: '$posthog_cookieless', $cookieless_mode: true };
type From = {
  to?: TestOrganization;
  at?: string;
  agent?: string;
  path?: string;
  event?: string;
};

/** Sends events of a visitor and gives them as they are stored. */
async function visit(
  properties: object[],
  { to = shop, at = '203.0.113.5', agent = firefox, path = '/e/', event = '$pageview' }: From = {},
): Promise<StoredEvent[]> {
  const { api_token } = to.project;
  const batch = properties.map((given) => ({
    event,
    uuid: randomUUID(),
    timestamp: new Date(now).toISOString(),
    properties: { ...anybody, ...given },
  }));
  const { status } = await harness.request('POST', path, {
    headers: {
      'user-agent': agent,
      'x-forwarded-for': at,
      ...(path === '/e/' ? {} : { authorization: `Bearer ${api_token}` }),
    },
    body: path === '/e/' ? { api_key: api_token, batch } : { batch: batch.map(withResults) },
  });
  assert.equal(status, 200);
  const stored = await storedEvents(harness.deps, to.project.id);
  return batch.map(({ uuid }) => stored.find((event) => event.uuid === uuid)!);
}

/** The form in which what became of each event is answered. */
function withResults(event: { properties: object }) {
  const { distinct_id, $cookieless_mode, ...properties } = event.properties as typeof anybody;
  return { ...event, distinct_id, properties, options: { cookieless_mode: $cookieless_mode } };
}

const visitor = async (from: From, properties = {}) =>
  (await visit([properties], from))[0]!.distinct_id;

test('without cookies a browser at an address is one visitor of a project for a day', async () => {
  now = noon;
  const id = await visitor({});
  assert.match(id, /^cookieless_[\w-]{22}$/);
  now = noon + 11 * 3_600_000;
  const same = [
    await visitor({}),
    await visitor({ path: '/i/v1/analytics/events/' }),
    // A server passes on what a browser sent it.
    await visitor(
      { at: '198.51.100.1', agent: 'proxy/1.0' },
      { $ip: '203.0.113.5', $raw_user_agent: firefox },
    ),
    // Read beside the event loop.
    ...new Set(
      (await visit(Array.from({ length: 100 }, () => ({ text: 'x'.repeat(1_000) })))).map(
        ({ distinct_id }) => distinct_id,
      ),
    ),
  ];
  assert.deepEqual(same, [id, id, id, id]);
  const others = [
    await visitor({ at: '203.0.113.6' }),
    await visitor({ agent: firefox.replaceAll('140', '141') }),
    await visitor({ to: await harness.newOrganization() }),
  ];
  now = noon + day_ms;
  others.push(await visitor({}));
  assert.equal(new Set([id, ...others]).size, 5);
});

test('fields that tell visitors apart are not stored, others are', async () => {
  const [event] = await visit([
    { $ip: '203.0.113.9', $raw_user_agent: firefox, plan: 'pro', $set: { plan: 'pro' } },
  ]);
  assert.deepEqual(JSON.parse(event!.properties), {
    ...anybody,
    plan: 'pro',
    $set: { plan: 'pro' },
  });
  assert.deepEqual(JSON.parse(event!.person_properties), { plan: 'pro' });
  const [of_another] = await visit([{}], { at: '203.0.113.10' });
  assert.equal(of_another!.person_properties, '{}');
});

test('identifying a person does not merge them with the shared visitor', async () => {
  const [before_it] = await visit([{}], { at: '203.0.113.20' });
  const [identified] = await visit(
    [{ distinct_id: 'ada', $anon_distinct_id: anybody.distinct_id, $ip: '203.0.113.20' }],
    { at: '203.0.113.20', event: '$identify' },
  );
  assert.equal(identified!.distinct_id, 'ada');
  assert.equal(JSON.parse(identified!.properties).$ip, '203.0.113.20');
  const [after_it] = await visit([{}], { at: '203.0.113.20' });
  assert.equal(after_it!.distinct_id, before_it!.distinct_id);
  const people = await storedPeople(harness.deps, shop.project.id);
  assert.ok(people.every((ids) => ids.length === 1));
});

/** Returns the bytes of the table's file, with deleted rows. */
async function fileOfSalts(): Promise<Buffer> {
  await harness.deps.db.text('CHECKPOINT');
  const row = await harness.deps.db.row<{ bytes: Buffer }>(
    sql`SELECT pg_read_binary_file(pg_relation_filepath('visitor_salts')) AS bytes`,
  );
  return row!.bytes;
}

test('all processes have one salt for a day, which goes an hour after it', async () => {
  const { db } = harness.deps;
  const at = Date.parse('2031-06-01T23:59:59Z');
  const [one, other] = [openVisitorSalts(db), openVisitorSalts(db)];
  const [salt, same] = await Promise.all([one(at), other(at)]);
  assert.equal(salt, same);
  assert.equal(Buffer.from(salt, 'base64url').length, 32);
  const next = await one(at + 1_000);
  assert.notEqual(next, salt);
  // A request that began before midnight.
  assert.equal(await one(at), salt);
  await sweepVisitorSalts(db, at + 3_600_000);
  assert.equal(await openVisitorSalts(db)(at), salt);
  assert.ok((await fileOfSalts()).includes(salt));
  // Also where somebody else looks at the store as it was.
  await db.transaction(async (tx) => {
    await tx.text('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    await tx.row(sql`SELECT count(*) FROM projects`);
    await sweepVisitorSalts(db, at + 3_601_000);
  });
  assert.ok(!(await fileOfSalts()).includes(salt));
  assert.notEqual(await openVisitorSalts(db)(at), salt);
  assert.equal(await openVisitorSalts(db)(at + 1_000), next);
});
