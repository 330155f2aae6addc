import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import { openDiskRoom } from '../../platform/disk/disk_room.ts';
import { silentLog } from '../../platform/log.ts';
import { openMetrics } from '../../platform/metrics.ts';

const mebibyte = 2 ** 20;
const measured = { free: 0, used: 0, inodes: { free: 0, total: 0 } };
const metrics = openMetrics({ process_metrics: false });
const bounds = { free_bytes_min: undefined, budget_bytes: 1_000 * mebibyte };
const disk = openDiskRoom(
  async () => ({
    places: [
      {
        name: 'data folder',
        free_bytes: measured.free * mebibyte,
        total_bytes: 10_000 * mebibyte,
        inodes: measured.inodes,
      },
    ],
    used_bytes: measured.used * mebibyte,
  }),
  bounds,
  { log: silentLog(), metrics },
);

const harness = aroundTests(() => openHarness({ deps: { disk, metrics } }));

async function stateWith(free: number, used = 0): Promise<string> {
  Object.assign(measured, { free, used });
  await disk.look();
  return `${disk.state()} ${disk.detail()}`.trim();
}

test('the room is judged by what is free and by what is allowed', async () => {
  // 5 % of 10,000 MiB have to stay free; once full, a quarter more.
  assert.equal(await stateWith(2_000), 'ok');
  assert.equal(
    await stateWith(999),
    'low The data folder has 999 MiB free; 500 MiB have to stay free.',
  );
  assert.match(await stateWith(499), /^full /);
  assert.match(await stateWith(600), /^full /);
  assert.match(await stateWith(626), /^low /);
  assert.equal(await stateWith(2_000, 850), 'low The stores take 850 MiB of 1000 MiB.');
  assert.match(await stateWith(2_000, 1_000), /^full /);
  assert.match(await stateWith(2_000, 801), /^full /);
  assert.equal(await stateWith(2_000, 799), 'ok');
  assert.match(await metrics.registry.metrics(), /sluice_disk_state 0/);
});

test('a file system that creates no more files is full, whatever room it has', async () => {
  // 2 % of the inodes have to stay free, 5,000 at most; a total of 0 means that there is no bound.
  const stateOf = (free: number, total: number) => {
    measured.inodes = { free, total };
    return stateWith(5_000);
  };
  assert.equal(await stateOf(0, 0), 'ok');
  assert.equal(await stateOf(500, 10_000), 'ok');
  assert.match(
    await stateOf(0, 10_000),
    /^full The data folder has 0 inodes free, .*; 200 have to stay free\. Delete files/,
  );
  assert.match(await stateOf(240, 10_000), /^full /);
  assert.match(await stateOf(300, 10_000), /^low /);
  assert.equal(await stateOf(10_000, 1_000_000), 'ok');
  assert.match(await stateOf(4_999, 1_000_000), /^full /);
  assert.equal(await stateOf(0, 0), 'ok');
});

test('a full disk is 503 at every door, and what was answered 200 is stored', async () => {
  const { project, key } = await harness.newOrganization();
  const url = `/api/projects/${project.id}/events/`;
  const event = (name: string) => ({ event: name, distinct_id: 'ada' });
  const send = async (name: string) => [
    await harness.request('POST', url, { key, body: { events: [event(`${name} 1`)] } }),
    await harness.request('POST', url, {
      key,
      body: `${JSON.stringify(event(`${name} 2`))}\n`,
      headers: { 'content-type': 'application/x-ndjson' },
    }),
    await harness.request('POST', '/e/', {
      body: { ...event(`${name} 3`), api_key: project.api_token },
    }),
  ];
  await stateWith(2_000);
  assert.deepEqual(
    (await send('before')).map(({ status }) => status),
    [200, 200, 200],
  );
  await stateWith(100);
  const refused = await send('full');
  assert.deepEqual(
    refused.map(({ status, headers }) => [status, headers['retry-after']]),
    [503, 503, 503].map((status) => [status, '60']),
  );
  assert.match(refused[0]!.body.detail, /no room on its disk; 0 of the events are stored/);
  assert.equal((await harness.request('GET', '/healthz')).body.disk, 'full');
  await stateWith(2_000);
  assert.deepEqual(
    (await send('after')).map(({ status }) => status),
    [200, 200, 200],
  );
  const { body } = await harness.request('GET', `${url}?limit=50`, { key });
  assert.deepEqual(
    body.results.map((row: { event: string }) => row.event).toSorted(),
    ['after', 'before'].flatMap((name) => [1, 2, 3].map((number) => `${name} ${number}`)),
  );
});
