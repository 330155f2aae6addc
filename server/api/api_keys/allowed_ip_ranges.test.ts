import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentOf } from '../../../test/factories/agents.ts';
import { aroundTests } from '../../../test/around_tests.ts';
import {
  createKey,
  newPerson,
  list_of_keys as list,
} from '../../../test/factories/people/signed_in.ts';
import { eventually } from '../../../test/eventually.ts';
import { openHarness } from '../../../test/harness.ts';
import { faultsOf } from '../../../test/watchers/faults_of.ts';

let now = Date.parse('2030-01-01T00:00:00Z');
const harness = aroundTests(() =>
  openHarness({
    clickhouse: false,
    deps: { clock: { now: () => now } },
    config: { trusted_proxies: ['127.0.0.1'], rate_limit_per_minute: 50 },
  }),
);

/** Asks with a key as the proxy passes it on from this address. */
const from = (ip: string, key: string, path = '/api/organizations/') =>
  harness.request('GET', path, { key, headers: { 'x-forwarded-for': ip } });

test('a key is taken from its ranges alone, and from anywhere without them', async () => {
  const person = await newPerson(harness);
  const allowed_ip_ranges = ['203.0.113.0/24', '2001:db8::/32'];
  const { value, id } = await createKey(person, { scopes: ['*'], allowed_ip_ranges });
  for (const ip of ['203.0.113.9', '::ffff:203.0.113.9', '2001:db8:1::1'])
    assert.equal((await from(ip, value)).status, 200, ip);
  for (const ip of ['203.0.114.9', '2001:db9::1', '127.0.0.1', '198.51.100.1, 203.0.114.9']) {
    const refused = await from(ip, value);
    assert.deepEqual([refused.status, refused.body.code], [403, 'permission_denied'], ip);
    assert.match(
      refused.body.detail,
      new RegExp(`from the address ${ip.split(', ').at(-1)}\\. Use`),
    );
  }
  // An address that a client writes in front of its own is not believed.
  assert.equal((await from('203.0.113.9, 198.51.100.1', value)).status, 403);
  for (const path of ['/api/personal_api_keys/@current/', '/api/nothing/', `${list}${id}/`])
    assert.notEqual((await from('198.51.100.1', value, path)).status, 200, path);
  const { body } = await person.ask('PATCH', `${list}${id}/`, { allowed_ip_ranges: [] });
  assert.deepEqual(body.allowed_ip_ranges, []);
  assert.equal((await from('198.51.100.1', value)).status, 200);
});

test('ranges are changed, kept by other changes, and rotated with the key', async () => {
  const person = await newPerson(harness);
  const { value, id, allowed_ip_ranges } = await createKey(person, { scopes: ['*'] });
  assert.deepEqual(allowed_ip_ranges, []);
  const path = `${list}${id}/`;
  const only = [' 203.0.113.7 '];
  const changed = await person.ask('PATCH', path, { allowed_ip_ranges: only });
  assert.deepEqual(changed.body.allowed_ip_ranges, ['203.0.113.7']);
  assert.equal((await from('203.0.113.8', value)).status, 403);
  const put = await person.ask('PUT', path, { label: 'other', scopes: ['*'] });
  assert.deepEqual(put.body.allowed_ip_ranges, ['203.0.113.7']);
  const rolled = (await person.ask('POST', `${path}roll/`, { overlap_seconds: 3600 })).body;
  assert.deepEqual(rolled.allowed_ip_ranges, ['203.0.113.7']);
  for (const key of [value, rolled.value])
    assert.deepEqual(
      [(await from('203.0.113.7', key)).status, (await from('203.0.113.8', key)).status],
      [200, 403],
    );
  const { results } = (await person.ask('GET', '/api/users/@me/activity/')).body;
  const fields = results.flatMap(({ changes }: { changes: { field: string }[] }) =>
    changes.map(({ field }) => field),
  );
  assert.ok(fields.includes('allowed_ip_ranges'));
});

test('a value that is no range is refused at its place', async () => {
  const person = await newPerson(harness);
  const create = (allowed_ip_ranges: unknown) =>
    person.ask('POST', list, { label: 'a', scopes: ['*'], allowed_ip_ranges });
  for (const [sent, wanted] of [
    [
      ['10.0.0.0/8', '10.0.0.0/33', 'example.com', '10.0.0.0/8', 5],
      [
        'allowed_ip_ranges__4 invalid_input',
        'allowed_ip_ranges__3 unique',
        'allowed_ip_ranges__1 invalid_input',
        'allowed_ip_ranges__2 invalid_input',
      ],
    ],
    ['10.0.0.0/8', ['allowed_ip_ranges not_a_list']],
    [null, ['allowed_ip_ranges null']],
    [Array.from({ length: 101 }, (_, at) => `10.0.0.${at}`), ['allowed_ip_ranges max_items']],
  ] as const)
    assert.deepEqual(faultsOf(await create(sent)).sort(), [...wanted].sort());
});

test('a key from elsewhere is bounded like a wrong one, and not noted as used', async () => {
  now += 3_600_000;
  const person = await newPerson(harness);
  const { value, id } = await createKey(person, {
    scopes: ['*'],
    allowed_ip_ranges: ['203.0.113.0/24'],
  });
  const statuses = new Set<number>();
  for (let count = 0; count < 202; count += 1)
    statuses.add((await from('198.51.100.7', value)).status);
  assert.deepEqual([...statuses], [403, 429]);
  assert.equal((await person.ask('GET', `${list}${id}/`)).body.last_used_at, null);
  assert.equal((await from('203.0.113.9', value)).status, 200);
  await eventually('its use is not noted', async () => {
    const { body } = await person.ask('GET', `${list}${id}/`);
    return body.last_used_ip === '203.0.113.9';
  });
});

test('an agent asks from the address of its own request', async () => {
  now += 3_600_000;
  const person = await newPerson(harness);
  const here = await createKey(person, { scopes: ['*'], allowed_ip_ranges: ['127.0.0.0/8'] });
  const agent = await agentOf(harness, here.value);
  assert.equal((await agent.call('list_projects')).is_error, false);
  await agent.close();
});
