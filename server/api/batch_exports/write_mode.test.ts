import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newExport, projectBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';

const harness = shareHarness({
  opened: async () => {
    home = await harness.newOrganization();
  },
});
let home: TestOrganization;

const destination = {
  type: 'Postgres',
  config: { user: 'u', password: 'p', host: 'h', database: 'd' },
};
const merging = {
  destination,
  mode: 'merge',
  primary_key: ['uuid'],
  version_key: ['inserted_at'],
};
const rule = ({ mode, incremental_mode, primary_key, version_key }: any) => [
  mode,
  incremental_mode,
  primary_key,
  version_key,
];
const merged = ['merge', 'MERGE', ['uuid'], ['inserted_at']];
const query = 'SELECT distinct_id, max(timestamp) AS seen, count() AS n FROM events GROUP BY 1';
const person_keys = [
  ['team_id', 'distinct_id'],
  ['person_version', 'person_distinct_id_version'],
];

test('an export says how its rows go into the table, under either name', async () => {
  const cases: [Record<string, unknown>, unknown[]][] = [
    [merging, merged],
    [
      {
        destination,
        incremental_mode: 'MERGE',
        primary_key: ['uuid'],
        version_key: ['inserted_at'],
      },
      merged,
    ],
    [
      { ...merging, custom_query: query, primary_key: ['distinct_id'], version_key: ['seen', 'n'] },
      ['merge', 'MERGE', ['distinct_id'], ['seen', 'n']],
    ],
    [{ destination, incremental_mode: 'APPEND' }, [null, 'APPEND', null, null]],
    [{ mode: 'append' }, ['append', 'APPEND', null, null]],
    [{ destination, mode: 'replace' }, ['replace', null, null, null]],
    [{ destination, mode: 'replace', model: 'persons' }, ['replace', null, null, null]],
    [{ destination, mode: 'replace', allow_empty: true }, ['replace', null, null, null]],
    [{ destination, model: 'persons', mode: 'append' }, ['append', 'APPEND', null, null]],
    [{ destination, model: 'persons', incremental_mode: 'MERGE' }, [null, 'MERGE', ...person_keys]],
    [
      { ...merging, model: 'persons', primary_key: ['person_id'], version_key: ['person_version'] },
      ['merge', 'MERGE', ['person_id'], ['person_version']],
    ],
  ];
  for (const [body, expected] of cases) {
    const created = await newExport(home, body);
    assert.deepEqual(rule(created), expected, JSON.stringify(body));
    const url = `${projectBase(home)}${created.id}/`;
    const read = await home.ask('GET', url);
    const put = await home.ask('PUT', url, read.body);
    assert.deepEqual([put.status, put.headers['etag']], [200, read.headers['etag']], put.text);
  }
});

test('a wrong rule is refused by its field, with what to do', async () => {
  const { id } = await newExport(home, { destination });
  const url = `${projectBase(home)}${id}/`;
  const cases: [Record<string, unknown>, string, RegExp][] = [
    [{ ...merging, primary_key: null }, 'primary_key', /such as \["uuid"\]/],
    [{ ...merging, version_key: undefined }, 'version_key', /late delivery/],
    [{ destination, incremental_mode: 'MERGE' }, 'primary_key', /must be there/],
    [{ ...merging, primary_key: ['id'] }, 'primary_key', /no column `id`.*`uuid`/],
    [{ ...merging, primary_key: ['properties'] }, 'primary_key', /type json/],
    [{ ...merging, version_key: ['event'] }, 'version_key', /integer, timestamp/],
    [{ ...merging, primary_key: ['uuid', 'uuid'] }, 'primary_key', /twice/],
    [
      { ...merging, primary_key: ['uuid', 'timestamp'], version_key: ['timestamp'] },
      'version_key',
      /in `primary_key` too/,
    ],
    [{ ...merging, mode: 'append' }, 'primary_key', /send null/],
    [{ ...merging, incremental_mode: 'APPEND' }, 'incremental_mode', /send "MERGE"/],
    [{ destination, mode: 'replace', primary_key: ['event'] }, 'primary_key', /no row is merged/],
    [
      { destination, mode: 'append', allow_empty: true },
      'allow_empty',
      /Only with `mode` "replace"/,
    ],
    [{ destination, mode: 'overwrite' }, 'mode', /merge/],
  ];
  for (const [body, attr, detail] of cases) {
    const whole = { name: 'New', interval: 'hour', ...body };
    for (const answer of [
      await home.ask('POST', projectBase(home), whole),
      await home.ask('PATCH', url, body),
    ]) {
      // A value that stands may be sent back.
      if (attr === 'incremental_mode' && answer.status === 200) continue;
      assert.deepEqual([answer.status, answer.body.attr], [400, attr], answer.text);
      assert.match(answer.body.detail, detail);
    }
  }
  const file = { type: 'File', config: { prefix: 'x' } };
  for (const [mode, body] of [
    ['merge', merging],
    ['replace', { mode: 'replace' }],
  ] as const) {
    const whole = { name: 'New', interval: 'hour', ...body, destination: file };
    const files = await home.ask('POST', projectBase(home), whole);
    assert.deepEqual([files.status, files.body.attr], [400, 'mode'], files.text);
    assert.match(files.body.detail, new RegExp(`File does not support "${mode}".*Postgres`));
  }
});

test('a changed key or version starts a revision, and a query keeps its key', async () => {
  const { id } = await newExport(home, {
    ...merging,
    custom_query: 'SELECT uuid, event, inserted_at FROM events',
  });
  const url = `${projectBase(home)}${id}/`;
  const effect = async (body: object) =>
    (await home.ask('POST', `${url}effect/`, body)).body.starts_anew as unknown;
  assert.deepEqual(
    [
      await effect({ name: 'Other' }),
      await effect({ primary_key: ['event'] }),
      await effect({ mode: 'append', primary_key: null, version_key: null }),
      await effect({ mode: null }),
      await effect({ mode: 'replace' }),
    ],
    [false, true, true, true, true],
  );
  const gone = await home.ask('PATCH', url, {
    custom_query: 'SELECT event, inserted_at FROM events',
  });
  assert.deepEqual([gone.status, gone.body.attr], [400, 'primary_key'], gone.text);
  const appended = await home.ask('PATCH', url, { mode: 'append' });
  assert.deepEqual(rule(appended.body), ['append', 'APPEND', null, null], appended.text);
  const replaced = await home.ask('PATCH', url, { mode: 'replace' });
  assert.deepEqual([replaced.body.mode, replaced.body.allow_empty], ['replace', false]);
  assert.equal(await effect({ allow_empty: true }), false);
});
