import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { attrsOf, projectBase } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { readReceipt } from '../../../engine/exports/runs/receipt.ts';

let home: TestOrganization;

const exporting = aroundTests(openQueryHarness, async (opened) => {
  home = await opened.harness.newOrganization();
  const names = ['$pageview', 'sign up', 'Sign up', "o'brien\\", 'größe'];
  await opened.insert(
    home,
    names.map((event, index) => ({ event, at: `2026-01-01T00:${10 + index}:00Z` })),
    [{ distinct_id: 'd', at: '2026-01-01T00:00:00Z', version: 1 }],
  );
});

const to = (prefix: string, config: object = {}) => ({
  destination: { type: 'File', config: { prefix, ...config } },
});
const linesOf = async (prefix: string) =>
  (await exporting.filesIn(prefix, '.jsonl')).flatMap((bytes) =>
    bytes.toString().trim().split('\n'),
  );
const eventsOf = async (prefix: string) =>
  (await linesOf(prefix)).map((line) => JSON.parse(line).event as string);
const previewed = (text: string) => {
  const lines = text.trim().split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line).event as string);
};

test('the same events are in preview, dry run, file, receipt and verification', async () => {
  const cases: [object, string[]][] = [
    [{}, ['$pageview', 'sign up', 'Sign up', "o'brien\\", 'größe']],
    [
      { include_events: null, exclude_events: [] },
      ['$pageview', 'sign up', 'Sign up', "o'brien\\", 'größe'],
    ],
    [{ include_events: ['sign up'] }, ['sign up']],
    [{ exclude_events: ['sign up', '$pageview'] }, ['Sign up', "o'brien\\", 'größe']],
    [{ include_events: ["o'brien\\", 'größe', 'größe'], exclude_events: ['größe'] }, ["o'brien\\"]],
    [{ include_events: ['unheard of'] }, []],
  ];
  for (const [index, [filter, expected]] of cases.entries()) {
    const prefix = `filter-${index}`;
    const created = await exporting.scheduled(home, to(prefix, filter), 1);
    assert.deepEqual(
      previewed((await created.send('POST', 'preview/', {})).body.text),
      expected,
      prefix,
    );
    const range = {
      start_at: '2026-01-01T00:00:00Z',
      end_at: '2026-01-01T01:00:00Z',
      dry_run: true,
    };
    assert.equal(
      (await created.send('POST', 'backfill/', range)).body.backfill.progress.records_total_count,
      expected.length,
    );
    const [run] = await exporting.runAll(created.id);
    assert.deepEqual([run!.status, run!.records_completed], ['Completed', expected.length]);
    assert.deepEqual(await eventsOf(prefix), expected);
    const stored = await exporting.harness.deps.db.row<{
      receipt: string;
      destination_config: object;
    }>(sql`SELECT receipt, destination_config FROM batch_export_runs WHERE id = ${run!.id}`);
    const receipt = readReceipt(stored!.receipt, exporting.harness.deps.secrets.public_key)!;
    const listed = (names: unknown) => [...new Set((names ?? []) as string[])].toSorted();
    const { include_events, exclude_events } = filter as Record<string, unknown>;
    assert.deepEqual(
      [receipt.include_events, receipt.exclude_events],
      [listed(include_events), listed(exclude_events)],
    );
  }
});

test('a query sees no event that the filter leaves out, whichever way it asks', async () => {
  const filter = { exclude_events: ['sign up', 'Sign up'] };
  const cases: [string, string][] = [
    ['SELECT event FROM events', "$pageview o'brien\\ größe"],
    ['SELECT count() AS event FROM events', '3'],
    [
      'SELECT event FROM events WHERE event IN ' +
        "(SELECT event FROM events WHERE event ILIKE 'sign%')",
      '',
    ],
    [
      'SELECT a.event AS event FROM persons p JOIN events a ON a.distinct_id = p.distinct_id ' +
        'ORDER BY a.timestamp',
      "$pageview o'brien\\ größe",
    ],
  ];
  for (const [index, [custom_query, expected]] of cases.entries()) {
    const prefix = `query-${index}`;
    const created = await exporting.scheduled(home, { ...to(prefix, filter), custom_query }, 1);
    const [run] = await exporting.runAll(created.id);
    assert.equal(run!.status, 'Completed', `${custom_query}: ${run!.latest_error}`);
    assert.equal((await eventsOf(prefix)).join(' '), expected, custom_query);
  }
});

test('another filter is a new revision, the same one in another order is not', async () => {
  const created = await exporting.scheduled(home, to('revision', { include_events: ['a', 'b'] }));
  const revisionOf = async () =>
    (await exporting.harness.deps.db.row<{ revision: number }>(
      sql`SELECT revision FROM batch_exports WHERE id = ${created.id}`,
    ))!.revision;
  const steps: [object, number][] = [
    [{ include_events: ['b', 'a', 'b'] }, 1],
    [{ exclude_events: [] }, 1],
    [{ exclude_events: ['c'] }, 2],
    [{ exclude_events: null }, 3],
    [{ include_events: null }, 4],
    [{ include_events: [] }, 4],
  ];
  for (const [config, revision] of steps) {
    const answer = await created.send('PATCH', '', { destination: { config } });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(await revisionOf(), revision, JSON.stringify(config));
  }
});

test('a list of events has bounds, and works with the model events alone', async () => {
  const key = 'destination__config__include_events';
  const many = Array.from({ length: 101 }, (_, index) => `e${index}`);
  const cases: [object, object, string[]][] = [
    [{ include_events: 'a' }, {}, [`${key} not_a_list`]],
    [{ include_events: 7 }, { model: 'persons' }, [`${key} not_a_list`]],
    [{ include_events: ['a', 7] }, {}, [`${key}__1 invalid_input`]],
    [{ include_events: [''] }, {}, [`${key}__0 blank`]],
    [{ include_events: ['a\0'] }, {}, [`${key}__0 null_characters_not_allowed`]],
    [{ include_events: ['x'.repeat(401)] }, {}, [`${key}__0 max_length`]],
    [{ include_events: many }, {}, [`${key} max_items`]],
    [{ include_events: ['a'] }, { model: 'persons' }, [`${key} invalid_input`]],
  ];
  for (const [config, rest, attrs] of cases) {
    const answer = await home.ask('POST', projectBase(home), {
      name: 'x',
      interval: 'hour',
      ...to('wrong', config),
      ...rest,
    });
    assert.equal(answer.status, 400, JSON.stringify(config).slice(0, 100));
    assert.deepEqual(attrsOf(answer), attrs);
  }
  const created = await exporting.scheduled(home, to('model', { exclude_events: ['a'] }));
  assert.deepEqual(attrsOf(await created.send('PATCH', '', { model: 'persons' })), [
    'destination__config__exclude_events invalid_input',
  ]);
  assert.equal(
    (
      await created.send('PATCH', '', {
        model: 'persons',
        destination: { config: { exclude_events: null } },
      })
    ).status,
    200,
  );
});
