import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  insertRunRow,
  newExport,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

const places = {
  place_before: 'the folder here of this server',
  place_after: 'the folder there of this server',
};
const destination = { type: 'File', config: { prefix: 'here' } };

test('a dry run tells the effect of a change with its counts, and changes nothing', async () => {
  const home = await harness.newOrganization();
  const created = await newExport(home, { destination });
  const ask = (body: unknown, headers = {}) =>
    home.ask('POST', `${projectBase(home)}${created.id}/effect/`, body, headers);
  const elsewhere = { destination: { config: { prefix: 'there' } } };
  assert.deepEqual((await ask(elsewhere)).body, {
    starts_anew: true,
    delivered_records: 0,
    open_runs: 0,
    ...places,
    delivered: [],
    detail:
      'The export restarts and delivers new rows to the folder there of this server. It has not ' +
      'delivered any row yet.',
  });
  await insertRunRow(harness, created.id, { status: 'Completed', total: 1_200 });
  await insertRunRow(harness, created.id, { status: 'Completed', total: 34, hour: 1 });
  await insertRunRow(harness, created.id, { status: 'Failed', total: 99, hour: 2 });
  await insertRunRow(harness, created.id, { status: 'Starting', hour: 3 });
  await insertRunRow(harness, created.id, { status: 'Running', hour: 4, committing: true });
  const stay =
    '1,234 delivered rows stay in the folder here of this server. Sluice delivers them again ' +
    'only by a backfill. 1 run is cancelled and planned again.';
  const anew = {
    starts_anew: true,
    delivered_records: 1_234,
    open_runs: 1,
    ...places,
    delivered: [
      {
        by: 'inserted_at',
        start_at: '2026-01-01T00:00:00.000000Z',
        end_at: '2026-01-01T02:00:00.000000Z',
      },
    ],
    detail: `The export restarts and delivers new rows to the folder there of this server. ${stay}`,
  };
  assert.deepEqual((await ask(elsewhere)).body, anew);
  assert.deepEqual((await ask({ model: 'persons' })).body, {
    ...anew,
    place_after: places.place_before,
    detail:
      'The export restarts and delivers to the same place: the folder here of this server. ' + stay,
  });
  for (const change of [{ name: 'Other' }, { destination: { config: { compression: 'gzip' } } }])
    assert.deepEqual((await ask(change)).body, {
      starts_anew: false,
      delivered_records: 0,
      open_runs: 0,
      place_before: places.place_before,
      place_after: places.place_before,
      delivered: [],
      detail: 'Delivered rows still count; nothing is delivered again.',
    });
  const refused = await ask({ destination: { config: { prefix: 1 } } });
  assert.deepEqual([refused.status, refused.body.attr], [400, 'destination__config__prefix']);
  assert.equal((await ask(elsewhere, { 'if-match': '"old"' })).status, 412);
  const after_all = await home.ask('GET', `${projectBase(home)}${created.id}/`);
  assert.deepEqual(after_all.body.destination, created.destination);
});

test('a change to replace offers no backfill, because its next run writes all rows', async () => {
  const home = await harness.newOrganization();
  const config = { host: 'example.com', database: 'd', user: 'u', password: 'p' };
  const created = await newExport(home, { destination: { type: 'Postgres', config } });
  const ask = (body: unknown) =>
    home.ask('POST', `${projectBase(home)}${created.id}/effect/`, body);
  await insertRunRow(harness, created.id, { status: 'Completed', total: 12 });
  const { body } = await ask({ mode: 'replace' });
  const place = 'table public.events in d at example.com';
  assert.deepEqual([body.starts_anew, body.delivered], [true, []]);
  assert.equal(
    body.detail,
    `The export restarts and delivers to the same place: ${place}. The next run replaces all ` +
      `rows in ${place}.`,
  );
  const merge = { mode: 'merge', primary_key: ['uuid'], version_key: ['inserted_at'] };
  assert.equal((await ask(merge)).body.delivered.length, 1);
});
