// Length: the tests of a delivery share a server and its ways to fail.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import tls from 'node:tls';
import { Readable } from 'node:stream';
import { zstdCompressSync } from 'node:zlib';
import { sourceOf } from '../../../../test/factories/batch_exports/content_sources.ts';
import {
  assertFault,
  freshDelivery,
  outcomeOf,
  isLasting,
  failureIn,
  manifest,
} from '../../../../test/factories/batch_exports/deliveries.ts';
import { certificate } from '../../../../test/servers/certificate.ts';
import type { Delivery } from '../../model/destination/destination.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import type { Column } from '../../model/models/column.ts';
import { persons as personsModel } from '../../model/models/persons.ts';
import { checkClickHouse } from './check.ts';
import { clickhouse } from './clickhouse.ts';
import { compressionTo } from './config.ts';
import type { ClickHouseConfig } from './config.ts';
import { clickHouseError } from './faults.ts';
import { keyClauses, sortingColumns } from './table_keys.ts';
import {
  openAroundTests,
  deps,
  secure,
  plain,
  freshConfig,
  inDatabase,
  rows,
  run,
} from '../../../../test/destinations/clickhouse_world.ts';

openAroundTests();

const unknown_setting = 'Code: 115. DB::Exception: Unknown setting x. (UNKNOWN_SETTING)\n';
const noteOnly: Column[] = [{ name: 'note', type: 'text', nullable: true, expression: 'note' }];

async function deliver(config: ClickHouseConfig, given: Delivery, rows: string[][]): Promise<void> {
  const sink = await clickhouse.open(config, given, deps);
  try {
    const lines = [given.columns.map(({ name }) => name), ...rows].map((row) => row.join('\t'));
    await sink.write(
      { number: 0, records: rows.length, is_last: true },
      Readable.from([zstdCompressSync(`${lines.join('\n')}\n`)]),
    );
    await sink.commit([outcomeOf(rows.length)], manifest);
  } finally {
    await sink.close();
  }
}

test('rows are compressed unless both processes are on one machine', () => {
  for (const url of ['http://localhost:8123', 'http://127.0.0.1', 'http://[::1]:8123'])
    assert.equal(compressionTo({ url }), null, url);
  for (const url of ['https://localhost:8443', 'http://127.example.com', 'http://10.0.0.1'])
    assert.equal(compressionTo({ url }), 'zstd', url);
});

test('the version of a merged row has its versions in order, then a hash', async () => {
  const column = (name: string, type: Column['type'], nullable: boolean): Column => {
    return { name, type, nullable, expression: name };
  };
  const columns = [
    column('id', 'integer', false),
    column('first', 'integer', false),
    column('second', 'timestamp', true),
    column('third', 'integer', true),
    column('note', 'text', true),
  ];
  const merge = { key: ['id'], versions: ['first', 'second', 'third'] };
  const config = await freshConfig();
  const least = (-(2n ** 63n)).toString();
  const given = [
    ['1', least, '1900-01-01 00:00:00.000001', '-1', 'a'],
    ['2', '-1', '2026-12-01 06:00:00', '0', 'b'],
    ['3', '0', String.raw`\N`, String.raw`\N`, String.raw`\N`],
    ['4', (2n ** 63n - 1n).toString(), '2299-12-31 23:59:59.999999', least, 'c'],
  ];
  await deliver(config, { ...freshDelivery({ columns }), merge }, given);
  const found = await rows<{ version: string; micros: string | null; hash: string }>(
    `SELECT toString(sluice_version) AS version,
      toString(toUnixTimestamp64Micro(second)) AS micros,
      toString(cityHash64(ifNull(toString(note), ''), isNull(note))) AS hash
      FROM ${inDatabase(config)} ORDER BY id`,
  );
  const none = String.raw`\N`;
  const wanted = given.map(([, first, , third], at) => {
    const { micros, hash } = found[at]!;
    const of = (value: string | null | undefined, place: bigint) =>
      value === null || value === none ? 0n : (BigInt(value!) + 2n ** 63n + 1n) << place;
    return of(first, 191n) + of(micros, 126n) + of(third, 61n) + (BigInt(hash) >> 3n);
  });
  assert.deepEqual(
    found.map(({ version }) => BigInt(version)),
    wanted,
  );
});

test('TLS is verified by name and authority unless the config says otherwise', async () => {
  const config = { ...(await freshConfig()), has_self_signed_cert: false };
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate]);
  const status = async (changes: Partial<ClickHouseConfig>) =>
    failureIn(await clickhouse.check({ ...config, ...changes }, noteOnly, deps));
  assert.match(await status({}), /certificate of the server/);
  assert.equal(await status({ url: secure.url.replace('127.0.0.1', 'localhost') }), 'passed');
  assert.equal(await status({ url: plain.url }), 'passed');
});

test('persons are merged: FINAL shows the highest version, whatever came last', async () => {
  const config = { ...(await freshConfig()), table_name: 'persons' };
  const columns = personsModel.columns.tables;
  const person = (distinct: string, version: number, name: string) =>
    `7|${distinct}|018f0000-0000-7000-8000-000000000001|{"name":"${name}"}|1|${version}|2020-01-01T00:00:00.000000Z|false|2020-01-01T00:00:00.000000Z`.split(
      '|',
    );
  const given = [
    freshDelivery({ model: 'persons', columns }),
    freshDelivery({ model: 'persons', columns }),
  ] as const;
  await deliver(config, given[0], [person('a', 5, 'five'), person('b', 1, 'one')]);
  await deliver(config, given[1], [
    person('a', 4, 'older'),
    person('b', 2, 'two'),
    person('d', 1, 'one'),
  ]);
  const found = await rows<{ distinct_id: string; name: string }>(
    `SELECT distinct_id, JSONExtractString(properties, 'name') AS name
      FROM ${inDatabase(config, 'persons')} FINAL ORDER BY 1`,
  );
  assert.deepEqual(
    found.map((person) => `${person.distinct_id} ${person.name}`),
    ['a five', 'b two', 'd one'],
  );
  const source = sourceOf((id) =>
    id === given[0].delivery_id
      ? [person('a', 5, 'five'), person('b', 1, 'one')]
      : [person('a', 4, 'older'), person('b', 2, 'two'), person('d', 1, 'one')],
  );
  const delivered = given.map((one) => ({ delivery: one, outcomes: [], manifest: '{}' }));
  assert.deepEqual(await clickhouse.verify(config, delivered, source, deps), []);
  await run(`DELETE FROM ${inDatabase(config, 'persons')} WHERE distinct_id = 'b'`);
  assert.deepEqual(
    (await clickhouse.verify(config, delivered, source, deps)).map((difference) => difference.kind),
    ['missing'],
  );
});

test('persons refuse a table that does not merge by their key', async () => {
  const config = { ...(await freshConfig()), table_name: 'persons' };
  const columns = personsModel.columns.tables.slice(0, 2);
  const create = (engine: string) =>
    run(
      `CREATE OR REPLACE TABLE ${inDatabase(config, 'persons')} (team_id Int64, distinct_id String,
        sluice_stage_id UUID) ENGINE = ${engine}`,
    );
  for (const engine of [
    'MergeTree ORDER BY (team_id, distinct_id)',
    'ReplacingMergeTree ORDER BY team_id',
  ]) {
    await create(engine);
    await assert.rejects(
      deliver(config, freshDelivery({ model: 'persons', columns }), [['7', 'a']]),
      isLasting('table_unsuitable'),
    );
  }
  await create('ReplacingMergeTree ORDER BY (distinct_id, team_id)');
  await deliver(config, freshDelivery({ model: 'persons', columns }), [['7', 'a']]);
});

test('a table of the user’s own keeps its options; an unfit value is final', async () => {
  const config = await freshConfig();
  await run(
    `CREATE TABLE ${inDatabase(config)} (own UInt8 DEFAULT 5,
        note LowCardinality(Nullable(String)),
      at DateTime64(3) , sluice_stage_id UUID, INDEX by_note note TYPE bloom_filter,
      PROJECTION by_time (SELECT at ORDER BY at)) ENGINE = MergeTree PARTITION BY toYYYYMM(at)
      PRIMARY KEY at ORDER BY (at, own) TTL toDateTime(at) + INTERVAL 80 YEAR
      SETTINGS index_granularity = 1024`,
  );
  const columns: Column[] = [
    ...noteOnly,
    { name: 'at', type: 'timestamp', nullable: false, expression: 'timestamp' },
  ];
  // More partitions than the server takes of one insert by itself.
  const months = Array.from({ length: 101 }, (_, month) => [
    'n',
    new Date(Date.UTC(2000, month, 1)).toISOString().replace('Z', '000Z'),
  ]);
  await deliver(config, freshDelivery({ columns }), [
    ['\\N', '2020-01-05T00:00:00.000001Z'],
    ['', '2020-01-06T00:00:00.000001Z'],
    ...months,
  ]);
  const found = await rows(
    `SELECT own, note, toUInt32(count()) AS n FROM ${inDatabase(config)} GROUP BY own, note
      ORDER BY note NULLS FIRST`,
  );
  assert.deepEqual(found, [
    { own: 5, note: null, n: 1 },
    { own: 5, note: '', n: 1 },
    { own: 5, note: 'n', n: 101 },
  ]);
  await assert.rejects(
    deliver(config, freshDelivery({ columns }), [['a', 'no instant']]),
    isLasting('value_refused'),
  );
});

test('the connection test names the materialized views that deliveries pass by', async () => {
  const config = await freshConfig();
  await run(
    `CREATE TABLE ${inDatabase(config)} (note Nullable(String), sluice_stage_id UUID)
    ENGINE = MergeTree ORDER BY tuple()`,
  );
  const view = (name: string, rest: string) =>
    run(`CREATE MATERIALIZED VIEW ${inDatabase(config, name)} ${rest}
      AS SELECT note FROM ${inDatabase(config)}`);
  await view('copied', 'ENGINE = MergeTree ORDER BY tuple()');
  await view('read_later', 'REFRESH EVERY 1 DAY ENGINE = MergeTree ORDER BY tuple()');
  const steps = await checkClickHouse(config, noteOnly, deps);
  assert.match(
    String(steps.find(({ name }) => name === 'Check the table')?.detail),
    /Materialized views \([^()]+\.copied\) read inserted rows/,
  );
});

test('the name of the error tells faults apart', () => {
  const cases: [string, boolean, string][] = [
    ['AUTHENTICATION_FAILED', false, 'authentication_failed'],
    ['ACCESS_DENIED', false, 'permission_denied'],
    ['READONLY', false, 'permission_denied'],
    ['UNKNOWN_DATABASE', false, 'database_missing'],
    ['UNKNOWN_TABLE', true, 'slice_lost'],
    ['NOT_ENOUGH_SPACE', true, 'disk_full'],
    ['MEMORY_LIMIT_EXCEEDED', true, 'out_of_resources'],
    ['TOO_MANY_SIMULTANEOUS_QUERIES', true, 'too_many_connections'],
    ['QUERY_WAS_CANCELLED', true, 'cancelled_by_server'],
    ['CANNOT_PARSE_UUID', false, 'value_refused'],
    ['VIOLATED_CONSTRAINT', false, 'constraint_violated'],
    ['TABLE_IS_READ_ONLY', true, 'read_only'],
    ['KEEPER_EXCEPTION', true, 'server_fault'],
    ['LOGICAL_ERROR', true, 'server_fault'],
  ];
  for (const [type, isRetryable, code] of cases) {
    const error = clickHouseError(
      Object.assign(new Error('said $& the server.'), { type, code: '1' }),
    );
    assertFault(error, isRetryable, code, type);
  }
  for (const [code, name] of [
    ['ECONNREFUSED', 'connection_failed'],
    ['ECONNRESET', 'connection_lost'],
  ]) {
    const error = clickHouseError(Object.assign(new Error('said'), { code }));
    assert.ok(error instanceof RetryableError && error.code === name);
  }
  const source = new Error('the query failed');
  assert.equal(clickHouseError(source), source);
});

test('a delivery takes six statements, and more where the table is of another kind', async () => {
  const config = await freshConfig();
  const number: Column = { name: 'id', type: 'integer', nullable: false, expression: 'id' };
  const columns = [number, { ...number, name: 'seen', nullable: true }, ...noteOnly];
  const given = freshDelivery({ columns, merge: { key: ['id'], versions: ['seen'] } });
  await deliver(config, given, [['1', '1', 'first']]);
  const statements = async (): Promise<string[]> => {
    const begun: string[] = [];
    secure.watch((statement) => void begun.push(/^\w+/.exec(statement)![0]));
    try {
      await deliver(config, { ...given, delivery_id: crypto.randomUUID() }, [['1', '2', 'second']]);
    } finally {
      secure.watch(undefined);
    }
    return begun;
  };
  const usual = ['SELECT', 'CREATE', 'INSERT', 'ALTER', 'INSERT', 'DROP'];
  assert.deepEqual(await statements(), usual);
  const [row] = await rows<{ note: string }>(`SELECT note FROM ${inDatabase(config)} FINAL`);
  assert.equal(row!.note, 'second');
  await run(
    `ALTER TABLE ${inDatabase(config)} MODIFY COLUMN sluice_stage_id UUID DEFAULT generateUUIDv4()`,
  );
  assert.deepEqual(await statements(), usual.toSpliced(2, 0, 'ALTER'));
});

test('a server too old for the first statement is named as such', async () => {
  const config = await freshConfig();
  const old = http.createServer((request, response) => {
    const query = new URL(request.url!, 'http://old').searchParams.get('query');
    void text(request).then((body) =>
      (query ?? body).startsWith('SELECT version()')
        ? response.end('{"version":"20.3.4.10"}\n')
        : response.writeHead(404, { 'x-clickhouse-exception-code': '115' }).end(unknown_setting),
    );
  });
  await once(old.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(old.address() as AddressInfo).port}`;
  try {
    await assert.rejects(
      clickhouse.open({ ...config, url }, freshDelivery({ columns: noteOnly }), deps),
      /20\.3.*22\.8/s,
    );
  } finally {
    old.close();
  }
});

test('the keys of a table are taken over word for word, without what follows them', () => {
  const cases: [string, string][] = [
    ['MergeTree ORDER BY tuple() SETTINGS index_granularity = 8192', 'ORDER BY tuple()'],
    [
      "ReplicatedMergeTree('/a/ORDER BY (', '{replica}', v) PARTITION BY (m) ORDER BY (a, " +
        '`TTL `) SAMPLE BY a TTL a + 1',
      'PARTITION BY (m) ORDER BY (a, `TTL `) SAMPLE BY a',
    ],
    [
      "MergeTree PARTITION BY x = 'it\\'s TTL ' PRIMARY KEY a ORDER BY (a, b)",
      "PARTITION BY x = 'it\\'s TTL ' PRIMARY KEY a ORDER BY (a, b)",
    ],
  ];
  for (const [engine, keys] of cases) assert.equal(keyClauses(engine), keys);
});

test('a sorting key is read as the server describes it', () => {
  const cases: [string, string[]][] = [
    ['number', ['number']],
    ['(number)', ['number']],
    ['shop, number', ['shop', 'number']],
    ['(`Order Id`)', ['Order Id']],
    ['`a, b`, `x\\`y\\\\`, c', ['a, b', 'x`y\\', 'c']],
    ['`(b)`', ['(b)']],
    ['(a + 1)', ['a + 1']],
    ['lower(shop), number', ['lower(shop)', 'number']],
    ['', []],
  ];
  for (const [key, columns] of cases) assert.deepEqual(sortingColumns(key), columns, key);
});
