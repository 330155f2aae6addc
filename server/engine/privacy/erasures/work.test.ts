import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql, { raw } from 'sql-template-tag';
import { insertRunRow, newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { until } from '../../../../test/factories/batch_exports/delivering_harness.ts';
import { enabledPlugin } from '../../../../test/factories/plugins/running_plugins.ts';
import { erasing } from '../../../../test/factories/events/erasures.ts';
import { shareHarness } from '../../../../test/harness.ts';
import { openClickHouse } from '../../../platform/clickhouse/client.ts';
import { claimErasure, giveBack } from './erasure.ts';
import { workOneStep } from './work.ts';

const harness = shareHarness({ clickhouse: true });
const { ask, send, work } = erasing(() => ({ harness }));

test('an erased id is gone from the texts of runs and plugins', async () => {
  const { db } = harness.deps;
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  const quoted = 'grace "the\\fast"';
  const said = `No room for ${quoted}.`;
  await db.run(sql`INSERT INTO batch_export_logs (batch_export_id, level, message)
    SELECT ${id}, 'INFO', unnest(${[quoted, `[${JSON.stringify(quoted)}]`]}::text[])`);
  await db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, latest_error, due_at, finished_at)
    VALUES (${id}, ${id}, ${home.project.id}, 1, ${id}, 'Completed', '2026-01-01Z', '2026-01-02Z',
      '[]', ${said}, now(), now())`);
  await db.run(sql`INSERT INTO batch_export_slices (run_id, number, inserted_from, inserted_to,
    key_from, key_to, records) VALUES (${id}, 0, '2026-01-01Z', '2026-01-02Z', 'a', ${quoted}, 1)`);
  await db.run(
    sql`UPDATE batch_exports SET pause_reason = ${JSON.stringify({
      code: 'repeated_failures',
      detail: said,
    })}::jsonb WHERE id = ${id}`,
  );
  await db.run(sql`INSERT INTO notices (id, batch_export_id, event, body, created_at)
    VALUES (${id}, ${id}, 'failed', ${JSON.stringify({
      data: { detail: said, run: { latest_error: said } },
    })}, now())`);
  const { id: erasure } = (await ask(home, 'POST', 'erasures/', { distinct_ids: [quoted] })).body;
  assert.equal((await work(home, erasure)).counts.log_lines, 3);
  const left = await db.row<Record<string, unknown>>(sql`
    SELECT export.pause_reason ->> 'detail' AS paused, run.latest_error, slice.key_to,
      notice.body::jsonb #> '{data}' AS told
    FROM batch_exports export JOIN batch_export_runs run ON run.id = export.id
      JOIN notices notice ON notice.id = run.id JOIN batch_export_slices slice
      ON slice.run_id = run.id WHERE export.id = ${id}`);
  const gone = 'This named a person who was erased.';
  const told = { detail: gone, run: { latest_error: gone } };
  assert.deepEqual(left, { paused: gone, latest_error: gone, key_to: '', told });
});

test('an erased id is gone from what plugins keep, and counted in their storage', async () => {
  const { db } = harness.deps;
  const home = await harness.newOrganization();
  const code = 'export const onEvent = () => undefined;';
  const given = { fields: [] };
  const { id } = await enabledPlugin(harness, home, 'pipeline_destinations', code, given);
  const names = ['grace', 'other'];
  const event = '01a20000-0000-7000-8000-000000000000';
  await db.run(sql`UPDATE plugin_configs SET error = 'grace has no room.' WHERE id = ${id}`);
  await db.run(sql`DELETE FROM plugin_logs WHERE plugin_config_id = ${id}`);
  await db.run(sql`INSERT INTO plugin_logs (plugin_config_id, level, message)
    SELECT ${id}, 'INFO', unnest(${names}::text[])`);
  await db.run(sql`INSERT INTO plugin_jobs (id, plugin_config_id, name, payload, run_at)
    SELECT gen_random_uuid(), ${id}, 'send', json_build_object('to', name), '2099-01-01Z'
    FROM unnest(${names}::text[]) name`);
  for (const table of ['plugin_cache', 'plugin_storage'])
    await db.run(sql`INSERT INTO ${raw(table)} (plugin_config_id, key, value)
      SELECT ${id}, 'of ' || name, '1'::json FROM unnest(${names}::text[]) name`);
  await db.run(sql`INSERT INTO plugin_waiting (plugin_config_id, mapping, event_uuid, inserted_at,
      distinct_id, person_id, tries, is_lost, reason)
    SELECT ${id}, name, ${event}, now(), name, ${event}, 1, false, ''
    FROM unnest(${names}::text[]) name`);
  await db.run(sql`
    INSERT INTO plugin_set_aside (plugin_config_id, event_uuid, event, distinct_id, mapping, reason,
      exchanges)
    SELECT ${id}, ${event}, 'paid', name, name, '', '["of grace"]'
    FROM unnest(${names}::text[]) name`);
  const { id: erasure } = (await ask(home, 'POST', 'erasures/', { distinct_ids: ['grace'] })).body;
  const { counts } = await work(home, erasure);
  assert.deepEqual([counts.log_lines, counts.plugin_jobs, counts.plugin_values], [1, 1, 1]);
  const left = await db.rows<{ text: string }>(sql`
    SELECT text FROM (
      SELECT plugin_config_id AS id, 'log ' || message AS text FROM plugin_logs
      UNION ALL SELECT id, 'error ' || error FROM plugin_configs
      UNION ALL SELECT plugin_config_id, 'job ' || (payload ->> 'to') FROM plugin_jobs
      UNION ALL SELECT plugin_config_id, 'cache ' || key FROM plugin_cache
      UNION ALL SELECT plugin_config_id, 'waiting ' || distinct_id FROM plugin_waiting
      UNION ALL SELECT plugin_config_id, 'aside ' || distinct_id || exchanges FROM plugin_set_aside
    ) kept WHERE id = ${id} ORDER BY text`);
  const gone = 'This named a person who was erased.';
  const kept = ['cache of', 'job', 'log', 'waiting'].map((place) => `${place} other`);
  assert.deepEqual(
    left.map(({ text }) => text),
    ['aside other[]', `error ${gone}`, `log ${gone}`, ...kept].toSorted(),
  );
});

test('a failed erasure says when it is retried, or since when it runs again', async () => {
  const { db, engine } = harness.deps;
  const home = await harness.newOrganization();
  const { body: asked } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['ivan'] });
  const detail = async () => (await ask(home, 'GET', `erasures/${asked.id}/`)).body.detail;
  const makeDue = sql`UPDATE erasures SET criteria_sealed = NULL, due_at = '2025-01-01Z'
    WHERE id = ${asked.id}`;
  await db.run(makeDue);
  await workOneStep(engine, new AbortController().signal, 0);
  assert.match(await detail(), /server failed;.* It is tried again in 10 seconds\.$/);
  await db.run(makeDue);
  const began = (await claimErasure(engine))!;
  assert.match(await detail(), /server failed;.* It is being tried again since 20\S+Z\.$/);
  await giveBack(engine, began, { step: 'note', detail: null });
  assert.equal(await detail(), null);
  await db.run(sql`DELETE FROM erasures WHERE id = ${asked.id}`);
});

test('while the store is rewriting, the erasure says how much it has left', async () => {
  const { clickhouse, engine } = harness.deps;
  const home = await harness.newOrganization();
  await send(home, [{ event: 'seen', distinct_id: 'judy' }]);
  const { body: asked } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['judy'] });
  await work(home, asked.id, 'remove');
  await clickhouse.command({ query: 'SYSTEM STOP MERGES events' });
  const working = workOneStep(engine, new AbortController().signal, 0);
  const look = () => ask(home, 'GET', `erasures/${asked.id}/`);
  try {
    await until(look, ({ detail }) => /^The store has \d+ parts? of events to re/.test(detail));
  } finally {
    await clickhouse.command({ query: 'SYSTEM START MERGES events' });
  }
  await working;
  const { step, detail } = (await look()).body;
  assert.deepEqual([step, detail], ['settle', null]);
});

test('an erasure does not hand over copies that it cannot judge for now', async () => {
  const { clickhouse, db, engine } = harness.deps;
  const home = await harness.newOrganization();
  await send(home, [{ event: 'seen', distinct_id: 'kim@x.org' }]);
  const { id } = await newExport(home, { destination: { type: 'File', config: { prefix: 'k' } } });
  await db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, due_at, finished_at)
    VALUES (${id}, ${id}, ${home.project.id}, 1, ${id}, 'Completed', '2026-01-01Z', '2026-01-02Z',
      '[{}]', now(), now())`);
  const { body: asked } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['kim@x.org'] });
  await work(home, asked.id, 'note');
  const away = openClickHouse('http://127.0.0.1:1', { application: 'sluice-test' });
  const dying: typeof clickhouse = Object.assign(Object.create(clickhouse), {
    query: (params: { query: string }) =>
      (params.query.includes('AS records FROM') ? away : clickhouse).query(params),
  });
  await db.run(sql`UPDATE erasures SET due_at = '2025-01-01Z' WHERE id = ${asked.id}`);
  await workOneStep({ ...engine, clickhouse: dying }, new AbortController().signal, 0);
  await away.close();
  const { step, copies } = (await ask(home, 'GET', `erasures/${asked.id}/`)).body;
  assert.deepEqual([step, copies.yours], ['note', 0]);
  assert.equal((await work(home, asked.id, 'remove')).copies.waiting, 1);
});

test('a delivery in doubt counts as a copy; one with more rows is left to you', async () => {
  const { db } = harness.deps;
  const home = await harness.newOrganization();
  await send(home, [{ event: 'seen', distinct_id: 'lea@x.org' }]);
  const { id } = await newExport(home, { destination: { type: 'File', config: { prefix: 'l' } } });
  const run = { selection: [{}] };
  const in_doubt = await insertRunRow(harness, id, { ...run, status: 'Failed', committing: true });
  const made = async (source_records: number) => {
    const delivery = await insertRunRow(harness, id, {
      ...run,
      hour: source_records,
      status: 'Completed',
      total: source_records,
    });
    const filter = { include_events: [], exclude_events: [] };
    const receipt = JSON.stringify({ model: 'events', source_records, ...filter, slices: [] });
    await db.run(sql`UPDATE batch_export_runs SET receipt = ${receipt} WHERE id = ${delivery}`);
    return delivery;
  };
  const [of_one, of_five] = [await made(1), await made(5)];
  const { body: asked } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['lea@x.org'] });
  await work(home, asked.id, 'remove');
  const copies = await db.rows<{ delivery_id: string; state: string }>(
    sql`SELECT delivery_id, state FROM erasure_copies WHERE erasure_id = ${asked.id}`,
  );
  const states = new Map(copies.map(({ delivery_id, state }) => [delivery_id, state]));
  assert.deepEqual(
    [in_doubt, of_one, of_five].map((delivery) => states.get(delivery)),
    ['waiting', 'waiting', 'yours'],
  );
});
