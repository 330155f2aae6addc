// Compares typed columns with JSON text in Parquet: the time to read one property of all events,
// the sizes, and what the columns cost the export: node bench/typed.ts [--events 1000000]
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Session } from 'chdb';
import { literal } from '../server/platform/clickhouse/quote.ts';
import { selectFor } from '../server/engine/destinations/formats/select.ts';
import type { Column } from '../server/engine/model/models/column.ts';
import { events } from '../server/engine/model/models/events.ts';
import {
  typed_settings,
  typedRelation,
  withTypedColumns,
} from '../server/engine/model/schema/typed_relation.ts';
import type { TypedColumn } from '../server/engine/model/schema/typed_relation.ts';
import { readOptions } from '../scripts/options.ts';

const { events: count } = readOptions({ events: 1_000_000 });
const rounds = 5;

const properties: [property: string, type: TypedColumn['type'], json: string][] = [
  ['amount', 'float', 'toString(number % 10007 / 100)'],
  ['quantity', 'integer', 'toString(number % 17)'],
  ['is_trial', 'boolean', "if(number % 3 = 0, 'true', 'false')"],
  ['plan', 'text', `concat('"', ['free', 'pro', 'team'][number % 3 + 1], '"')`],
  ['$browser', 'text', `concat('"', ['Chrome', 'Safari', 'Firefox'][number % 3 + 1], '"')`],
  ['$browser_version', 'integer', 'toString(100 + number % 30)'],
  ['$os', 'text', `concat('"', ['Windows', 'Mac OS X', 'Linux'][number % 3 + 1], '"')`],
  ['$device_id', 'text', `concat('"', toString(generateUUIDv4(number % 50000)), '"')`],
  ['$session_id', 'text', `concat('"', toString(generateUUIDv4(number)), '"')`],
  [
    '$current_url',
    'text',
    `concat('"https://shop.example/products/', toString(number % 5000), '?ref=mail"')`,
  ],
  ['$pathname', 'text', `concat('"/products/', toString(number % 5000), '"')`],
  ['$referrer', 'text', `'"https://search.example/"'`],
  ['$screen_height', 'integer', 'toString(700 + number % 900)'],
  ['$screen_width', 'integer', 'toString(1000 + number % 2000)'],
  ['$lib_version', 'text', `'"1.298.0"'`],
  [
    'items',
    'json',
    `concat('[{"sku":"A-', toString(number % 999), '","n":', toString(number % 5), '}]')`,
  ],
];
const typed = properties.map(([property, type]): TypedColumn => {
  return { property, type, column: `p_${property.replace('$', '')}` };
});

const folder = mkdtempSync(join(tmpdir(), 'sluice-typed-'));
const session = new Session(join(folder, 'data'));
const run = (text: string) => session.queryAsync(text);
const timed = async (text: string): Promise<number> => {
  const began = performance.now();
  await run(text);
  return (performance.now() - began) / 1000;
};

function written(relation: string, columns: Column[], file: string): string {
  const select = selectFor({ format: 'Parquet', compression: 'zstd' }, columns);
  const settings = Object.entries({ ...select.settings, ...typed_settings }).map(
    ([name, value]) => `${name} = ${typeof value === 'number' ? value : literal(value)}`,
  );
  return `SELECT ${select.expressions} FROM ${relation} INTO OUTFILE ${literal(file)} TRUNCATE
    FORMAT Parquet SETTINGS ${settings.join(', ')}`;
}

/** Returns the median of some rounds. */
async function median(text: string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) times.push(await timed(text));
  return times.toSorted((one, other) => one - other)[Math.floor(rounds / 2)]!;
}

try {
  const json = properties.map(([name, , value]) => `${literal(`"${name}":`)}, ${value}`);
  await run(`CREATE TABLE events ENGINE = MergeTree ORDER BY (inserted_at, uuid) AS SELECT
    toInt64(1) AS team_id, generateUUIDv4(number) AS uuid, 'order placed' AS event,
    toString(number % 50000) AS distinct_id, generateUUIDv4(number % 50000) AS person_id,
    concat('{', ${json.join(", ',', ")}, '}') AS properties, '{}' AS person_properties,
    '' AS elements_chain, toDateTime64('2026-01-01 00:00:00', 6, 'UTC') AS timestamp,
    timestamp AS created_at, timestamp + number / 100 AS inserted_at FROM numbers(${count})`);
  const files = { json: join(folder, 'json.parquet'), typed: join(folder, 'typed.parquet') };
  const columns = events.columns.files;
  const write = {
    json: await timed(written('events', columns, files.json)),
    typed: await timed(
      written(
        typedRelation({ text: 'events', parameters: {} }, typed).text,
        withTypedColumns(columns, typed),
        files.typed,
      ),
    ),
  };
  const bytes = { json: statSync(files.json).size, typed: statSync(files.typed).size };
  const rate = (seconds: number) => `${Math.round(count / seconds).toLocaleString('en')} rows/s`;
  console.log(`${count.toLocaleString('en')} events with ${properties.length} properties`);
  console.log(`written: JSON ${rate(write.json)}, typed ${rate(write.typed)}`);
  const share = bytes.typed / bytes.json;
  console.log(`bytes: JSON ${bytes.json}, typed ${bytes.typed} (${share.toFixed(2)})`);
  const reads: [what: string, typed: string, json: string][] = [
    ['sum of amount', 'sum(p_amount)', "sum(JSONExtractFloat(properties, 'amount'))"],
    ['rows by plan', 'uniqExact(p_plan)', "uniqExact(JSONExtractString(properties, 'plan'))"],
  ];
  for (const [what, of_typed, of_json] of reads) {
    const from = (file: string) => `FROM file(${literal(file)}, Parquet) FORMAT Null`;
    const quick = await median(`SELECT ${of_typed} ${from(files.typed)}`);
    const slow = await median(`SELECT ${of_json} ${from(files.json)}`);
    console.log(
      `${what}: typed ${(1000 * quick).toFixed(0)} ms, JSON ${(1000 * slow).toFixed(0)} ms: ` +
        `${(slow / quick).toFixed(1)} times`,
    );
  }
} finally {
  session.close();
  rmSync(folder, { recursive: true, force: true });
}
