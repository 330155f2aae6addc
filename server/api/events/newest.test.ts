import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openHarness } from '../../../test/harness.ts';
import type { Harness } from '../../../test/harness.ts';

let harness: Harness;
before(async () => {
  harness = await openHarness();
});
after(() => harness.close());

const uuids = ['1', '2', '3'].map((digit) => `01890000-0000-7000-8000-00000000000${digit}`);

test('the events that were stored last, newest first, of this project alone', async () => {
  const [home, other] = [await harness.newOrganization(), await harness.newOrganization()];
  const url = `/api/projects/${home.project.id}/events/`;
  const list = async (query = '', headers: Record<string, string> = {}) =>
    harness.request('GET', `${url}${query}`, { key: home.key, headers });
  assert.deepEqual((await list()).body, { results: [] });
  for (const [index, uuid] of uuids.entries())
    await harness.request('POST', url, {
      key: home.key,
      body: {
        events: [
          {
            uuid,
            event: `event ${index} <b>`,
            distinct_id: 'ada',
            timestamp: '2020-01-02T03:04:05.678901Z',
          },
        ],
      },
    });
  await harness.request('POST', `/api/projects/${other.project.id}/events/`, {
    key: other.key,
    body: { events: [{ event: 'of others', distinct_id: 'bob' }] },
  });
  const { body, headers } = await list();
  assert.deepEqual(
    body.results.map((row: any) => row.uuid),
    uuids.toReversed(),
  );
  const { inserted_at, ...first } = body.results[0];
  assert.deepEqual(first, {
    uuid: uuids[2],
    event: 'event 2 <b>',
    distinct_id: 'ada',
    timestamp: '2020-01-02T03:04:05.678901Z',
  });
  assert.match(inserted_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  assert.equal((await list('?limit=2')).body.results.length, 2);
  assert.equal((await list('', { 'if-none-match': headers['etag']! })).status, 304);
  for (const query of ['?limit=0', '?limit=101', '?limit=x'])
    assert.equal((await list(query)).status, 400, query);
});
