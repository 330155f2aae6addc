import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  attrsOf,
  insertRunRow,
  newExport,
  noop_export,
  organizationBase,
  projectBase,
} from '../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

/** Wrong for PATCH, and for PUT when the required fields stand beside. */
const wrong: [unknown, string[]][] = [
  [{ name: '' }, ['name blank']],
  [{ name: null }, ['name null']],
  [{ name: {} }, ['name invalid_input']],
  [{ name: 'a\0' }, ['name null_characters_not_allowed']],
  [{ model: 'cohorts' }, ['model invalid_choice']],
  [{ interval: 'month' }, ['interval invalid_choice']],
  [{ interval: null }, ['interval null']],
  [{ paused: 1 }, ['paused invalid_input']],
  [{ paused: null }, ['paused null']],
  [{ last_paused_at: 'now' }, ['last_paused_at invalid_input']],
  [{ start_at: '2026-01-01' }, ['start_at invalid_input']],
  [{ end_at: '2019-12-31T23:59:59Z' }, ['end_at invalid_input']],
  [{ start_at: '2050-01-01T00:00:00Z', end_at: '2049-01-01T00:00:00Z' }, ['end_at invalid_input']],
  [{ custom_query: 'SELECT 1' }, ['custom_query invalid_input']],
  [{ destination: null }, ['destination null']],
  [{ destination: 'NoOp' }, ['destination invalid_input']],
  [{ destination: { type: null, config: {} } }, ['destination__type null']],
  [{ destination: { type: 'Floppy', config: {} } }, ['destination__type invalid_choice']],
  [{ destination: { type: 'NoOp', config: 'x' } }, ['destination__config invalid_input']],
  [{ destination: { type: 'NoOp', config: { arg: null } } }, ['destination__config__arg null']],
  [
    { destination: { type: 'S3', config: { bucket_name: 7 } } },
    ['aws_access_key_id', 'aws_secret_access_key', 'bucket_name', 'prefix', 'region'].map(
      (key) =>
        `destination__config__${key} ${key === 'bucket_name' ? 'invalid_input' : 'required'}`,
    ),
  ],
  [
    { name: '', interval: '', paused: 'x' },
    ['interval invalid_choice', 'name blank', 'paused invalid_input'],
  ],
];

test('wrong bodies of PATCH and PUT are 400 and change nothing', async () => {
  const home = await harness.newOrganization();
  const created = await newExport(home, { start_at: '2020-01-01T00:00:00Z' });
  for (const base of [projectBase(home), organizationBase(home)]) {
    for (const [body, expected] of wrong) {
      for (const method of ['PATCH', 'PUT']) {
        const sent = method === 'PUT' ? { ...noop_export, ...(body as object) } : body;
        const answer = await home.ask(method, `${base}${created.id}/`, sent);
        assert.equal(answer.status, 400, `${method} ${JSON.stringify(body)}: ${answer.text}`);
        assert.deepEqual(attrsOf(answer), expected, `${method} ${JSON.stringify(body)}`);
      }
    }
    for (const body of ['{', '[]', '7', '"x"', 'null', '[{}]'])
      assert.equal((await home.ask('PATCH', `${base}${created.id}/`, body)).status, 400, body);
  }
  assert.deepEqual((await home.ask('GET', `${projectBase(home)}${created.id}/`)).body, created);
});

test('changes that race are made one after the other', async () => {
  const home = await harness.newOrganization();
  const created = await newExport(home);
  const url = `${projectBase(home)}${created.id}/`;
  const send = (method: string, path: string, body: unknown) =>
    home.ask(method, `${url}${path}`, body);
  const answers = await Promise.all([
    ...Array.from({ length: 6 }, (_, number) =>
      send('PATCH', '', { destination: { config: { arg: String(number) } } }),
    ),
    send('POST', 'pause/', {}),
    send('PATCH', '', { interval: 'day' }),
    send('POST', 'backfill/', { start_at: '2026-01-01T00:00:00Z', end_at: '2026-01-02T00:00:00Z' }),
  ]);
  assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([200]));
  const { body } = await home.ask('GET', url);
  assert.deepEqual([body.paused, body.interval], [true, 'day']);
});

test('actions refuse broken bodies, and say so when the analytics store is down', async () => {
  const home = await harness.newOrganization();
  const created = await newExport(home, {
    start_at: '9999-11-30T00:00:00Z',
    interval: 'week',
  });
  const url = `${projectBase(home)}${created.id}/`;
  const run = await insertRunRow(harness, created.id, { status: 'Failed' });
  const range = { start_at: '2026-01-01T00:00:00Z', end_at: '2026-01-02T00:00:00Z' };
  const { backfill } = (await home.ask('POST', `${url}backfill/`, range)).body;
  for (const path of [
    'pause/',
    'unpause/',
    'backfill/',
    'test/',
    'preview/',
    `runs/${run}/cancel/`,
    `runs/${run}/retry/`,
    `backfills/${backfill.id}/cancel/`,
  ]) {
    const answer = await home.ask('POST', `${url}${path}`, '{"a":');
    assert.deepEqual([answer.status, answer.body.code], [400, 'parse_error'], path);
    assert.equal(
      (await home.ask('POST', `${url}${path}`, 'a=b', { 'content-type': 'text/plain' })).status,
      415,
      path,
    );
  }
  assert.equal((await home.ask('POST', `${url}preview/`)).status, 503);
  assert.equal(
    (await home.ask('POST', `${url}backfill/`, { ...range, dry_run: true })).status,
    503,
  );
  assert.deepEqual(
    (await home.ask('POST', `${url}test/`)).body.steps.map(
      (step: { status: string }) => step.status,
    ),
    ['passed'],
  );
});

test('a create with a key and a change ask the store nine times each', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  const { db } = harness.deps;
  const creates: number[] = [];
  const changes: number[] = [];
  // The first uses of a key are noted beside its requests: the least counts.
  for (let round = 0; round < 4; round += 1) {
    const headers = { 'idempotency-key': `round-${round}` };
    const before = db.statementCount();
    await home.ask('POST', projectBase(home), noop_export, headers);
    const between = db.statementCount();
    await home.ask('PATCH', `${projectBase(home)}${id}/`, { name: `Round ${round}` });
    creates.push(between - before);
    changes.push(db.statementCount() - between);
  }
  assert.deepEqual([Math.min(...creates), Math.min(...changes)], [9, 9]);
});
