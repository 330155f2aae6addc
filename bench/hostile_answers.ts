// Measures how long an answer holds the event loop: pages with the largest allowed records. Run:
// npm run bench hostile_answers [-- --limit 1000 --rounds 3]
import sql from 'sql-template-tag';
import { request } from 'undici';
import { buildApp } from '../server/app.ts';
import { openLog } from '../server/platform/log.ts';
import { openEra } from '../test/fuzz/era.ts';
import { openRandom } from '../test/chaos/random.ts';
import { openHarness } from '../test/harness.ts';
import { readBenchOptions, tell } from './measure/figures.ts';
import { watchTurns } from './measure/turn_watch.ts';

const options = readBenchOptions({ limit: '100', rounds: '3' });
const text = (length: number) => 'a "quoted" text, '.repeat(length / 17);
const harness = await openHarness({ deps: { log: openLog('error') } });
const era = await openEra(harness);
const { organization, project } = era.home;
const app = buildApp(harness.deps);
const address = await app.listen({ host: '127.0.0.1', port: 0 });
const plugin = Number(era.idOf('pipeline_destinations', openRandom(1, 1)));
await harness.deps.db.run(sql`
  INSERT INTO plugin_configs (team_id, plugin_id, config)
  VALUES (${project.id}, ${plugin}, ${JSON.stringify({ a: text(900_000) })})`);
/**
 * Lists, the rows that they read, and the statement that makes each row as large as allowed and
 * copies it.
 */
const lists: { path: string; table: string; large: object; fresh: string }[] = [
  {
    path: `/api/projects/${project.id}/plugin_configs/`,
    table: 'plugin_configs',
    large: { config: { a: text(900_000) } },
    fresh: `'id', nextval(pg_get_serial_sequence('plugin_configs', 'id'))`,
  },
  {
    path: `/api/organizations/${organization.id}/pipeline_destinations/`,
    table: 'plugins',
    large: { config_schema: [{ key: 'a', hint: text(950_000) }], description: text(60_000) },
    fresh: `'id', nextval(pg_get_serial_sequence('plugins', 'id'))`,
  },
  {
    path: `/api/projects/${project.id}/batch_exports/`,
    table: 'batch_exports',
    large: { destination_config: { prefix: text(1_000_000) }, name: text(1_000) },
    fresh: `'id', gen_random_uuid()`,
  },
  {
    path: `/api/organizations/${organization.id}/activity/`,
    table: 'activity',
    large: { changes: [{ field: 'config', before: text(1_000_000), after: text(1_000_000) }] },
    // The copies belong to no request. `close` checks that each change left one entry.
    fresh: `'id', gen_random_uuid(), 'number', 1000000 + copies.number, 'request_id', NULL`,
  },
];
const turns = watchTurns();
for (const { path, table, large, fresh } of lists) {
  await harness.deps.db.text(
    `INSERT INTO ${table} OVERRIDING SYSTEM VALUE
     SELECT (jsonb_populate_record(NULL::${table},
       to_jsonb(one) || $1::jsonb || jsonb_build_object(${fresh}))).*
     FROM (SELECT * FROM ${table} ORDER BY id LIMIT 1) AS one,
       generate_series(1, $2::integer) AS copies (number)`,
    [JSON.stringify(large), Number(options.limit)],
  );
  const held: number[] = [];
  let megabytes = 0;
  for (let round = 0; round < Number(options.rounds); round += 1) {
    turns.longest();
    const { statusCode, body } = await request(`${address}${path}?limit=${options.limit}`, {
      headers: era.credentials[0]!,
    });
    let bytes = 0;
    for await (const chunk of body) bytes += (chunk as Buffer).length;
    if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}.`);
    megabytes = bytes / 1e6;
    held.push(turns.longest().processor_ms);
  }
  tell({
    what:
      `${path.split('/').at(-2)!}, a page of ${megabytes.toFixed(0)} MB: ` +
      'longest turn of the loop',
    unit: 'ms',
    better: 'less',
    ours: held,
    aim: { value: 50 },
  });
}
turns.end();
await app.close();
await harness.close();
