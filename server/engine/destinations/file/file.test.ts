import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { isPassing, manifest } from '../../../../test/factories/batch_exports/deliveries.ts';
import { changedFile } from '../../../../test/factories/batch_exports/changed_files.ts';
import { sourceOf } from '../../../../test/factories/batch_exports/content_sources.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import type { Config } from '../../../../test/destinations/destination_world.ts';
import { parseJsonLines } from '../../../../test/watchers/read_formats.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { SliceOutcome } from '../../model/destination/destination.ts';
import { stemOf } from '../formats/naming.ts';
import { fileError } from './faults.ts';
import { file } from './file.ts';
import {
  emptyRow,
  fileDelivery as delivery,
} from '../../../../test/factories/batch_exports/file_deliveries.ts';
import { folderAroundTests } from '../../../../test/around_tests.ts';

const root = folderAroundTests();
const outside = folderAroundTests();
const deps = {
  log: silentLog(),
  outbound: openOutbound({ allow: [] }),
  export_dir: root,
  signal: new AbortController().signal,
};
let places = 0;

const folderOfConfig = (config: Config) => join(root, String(config['prefix']).split('/')[0] ?? '');

async function visible(config: Config): Promise<string[]> {
  const folder = folderOfConfig(config);
  if (!existsSync(folder)) return [];
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

testDestination({
  definition: file,
  start: async () => deps,
  stop: async () => undefined,
  configure: async () => ({
    prefix: `place${(places += 1)}/{year}/{table}`,
    file_format: 'JSONLines',
    compression: 'gzip',
  }),
  readBack: async (config) => {
    const names = (await visible(config)).filter((name) => name.endsWith('.jsonl.gz'));
    return (
      await Promise.all(names.map(async (name) => parseJsonLines(gunzipSync(await readFile(name)))))
    ).flat();
  },
  leftovers: async (config) => (await visible(config)).filter((name) => name.includes('/.')),
  misconfigure: async () => {
    await symlink(outside, join(root, 'link'));
    await writeFile(join(root, 'occupied'), '');
    return [
      { name: 'a link out of the folder', change: { prefix: 'link/events' }, code: 'invalid_path' },
      {
        name: 'a file where a folder should be',
        change: { prefix: 'occupied/events' },
        code: 'invalid_path',
      },
      {
        name: 'a name that is too long',
        change: { prefix: 'x'.repeat(300) },
        code: 'invalid_path',
      },
    ];
  },
  invalid: [
    { name: 'absolute', change: { prefix: '/etc' } },
    { name: 'dots', change: { prefix: 'a/../../b' } },
    { name: 'NUL', change: { prefix: 'a\0b' } },
    { name: 'unknown variable', change: { prefix: '{year}/{nonsense}' } },
    { name: 'wrong type', change: { prefix: 7 } },
    { name: 'unknown format', change: { file_format: 'XML' } },
    { name: 'unknown compression', change: { compression: 'rar' } },
    { name: 'compression of another format', change: { compression: 'snappy' } },
    { name: 'size zero', change: { max_file_size_mb: 0 } },
  ],
  damage: {
    changed: async (_config, [outcome]) => {
      const path = join(root, outcome?.name ?? '');
      const bytes = await readFile(path);
      bytes[20] = (bytes[20] ?? 0) ^ 1;
      await writeFile(path, bytes);
    },
    value: async (config, [outcome]) => {
      const path = join(root, outcome?.name ?? '');
      await writeFile(path, changedFile(await readFile(path), file.encoding(config as never)));
    },
    missing: (_config, [outcome]) => rm(join(root, outcome?.name ?? '')),
    added: (_config, [outcome]) =>
      writeFile(join(root, (outcome?.name ?? '').replace('-0000.', '-0007.')), 'x'),
  },
  has_nul: true,
  recovers: true,
});

test('names come from the prefix, the interval, the delivery and the slice', async () => {
  const sink = await file.open(
    {
      prefix: 'names//{year}/{month}/{day}/{hour}{minute}{second}/{table}/{data_interval_end}/',
      compression: 'zstd',
      file_format: 'CSV',
    },
    delivery(),
    deps,
  );
  const { name } = await sink.write({ number: 12, records: 1 }, Readable.from([Buffer.from('x')]));
  assert.equal(
    name,
    'names/2015/09/12/000000/events/20150912T000000Z/20150911T233000Z-20150912T000000Z-0123456789ab-0012.csv.zst',
  );
  await sink.abort([]);
});

test('a prefix has start and end of the interval, in UTC and in the zone of the export', () => {
  const night = { ...delivery(), data_interval_start: '2015-12-31T22:30:00Z' };
  const folder = (prefix: string, timezone: string) =>
    stemOf(prefix, { ...night, timezone }).replace(/\/[^/]*$/, '');
  const local = '{local_year}-{local_month}-{local_day}/{local_hour}{local_minute}';
  assert.equal(folder(local, 'Asia/Kolkata'), '2016-01-01/0400');
  assert.equal(folder(local, 'America/Los_Angeles'), '2015-12-31/1430');
  const start = '{start_year}-{start_month}-{start_day}/{start_hour}{start_minute}';
  assert.equal(folder(start, 'Asia/Kolkata'), '2015-12-31/2230');
  const until =
    '{local_end_year}-{local_end_month}-{local_end_day}/{local_end_hour}{local_end_minute}';
  const short = { ...night, data_interval_end: '2016-01-01T22:30:00Z' };
  const folders = ['Asia/Kolkata', 'America/Los_Angeles'].map((timezone) =>
    stemOf(until, { ...short, timezone }).replace(/\/[^/]*$/, ''),
  );
  assert.deepEqual(folders, ['2016-01-02/0400', '2016-01-01/1430']);
});

test('a link out of the folder is not followed, not even to create a folder', async () => {
  await symlink(outside, join(root, 'escape'));
  const sink = await file.open({ prefix: 'escape/made' }, delivery(), deps);
  await assert.rejects(
    sink.write({ number: 0, records: 1 }, Readable.from([Buffer.from('x')])),
    (error) => error instanceof NonRetryableError,
  );
  assert.deepEqual(await readdir(outside), []);
});

test('files of another export’s manifest, and folders, are not called added', async () => {
  const sinks = await Promise.all([
    file.open({ prefix: 'shared' }, delivery(), deps),
    file.open(
      { prefix: 'shared' },
      delivery({ delivery_id: '018f0000-0000-7000-8000-aaaaaaaaaaaa' }),
      deps,
    ),
  ]);
  const delivered = [];
  for (const [index, sink] of sinks.entries()) {
    const outcomes = [await emptyRow(sink)];
    const [{ name }] = outcomes as [SliceOutcome];
    const own =
      index === 0 ? delivery() : delivery({ delivery_id: '018f0000-0000-7000-8000-aaaaaaaaaaaa' });
    const manifest = JSON.stringify({ delivery_id: own.delivery_id, slices: [{ name }] });
    await sink.commit(outcomes, { name: 'manifest', text: manifest });
    delivered.push({ delivery: own, outcomes, manifest });
  }
  // An export with the prefix `shared/{year}`.
  await mkdir(join(root, 'shared', '2026'));
  const none = sourceOf([]);
  assert.deepEqual(await file.verify({ prefix: 'shared' }, delivered.slice(0, 1), none, deps), []);
  await appendFile(join(root, 'shared', 'readme.txt'), 'x');
  assert.deepEqual(
    (await file.verify({ prefix: 'shared' }, delivered.slice(0, 1), none, deps)).map((found) => [
      found.kind,
      found.name,
    ]),
    [['added', 'shared/readme.txt']],
  );
});

test('a shorter repeat removes what the longer one left', async () => {
  await mkdir(join(root, 'shorter'), { recursive: true });
  const first = await file.open({ prefix: 'shorter' }, delivery(), deps);
  const outcomes = [];
  for (const number of [0, 1])
    outcomes.push({
      number,
      ...(await first.write({ number, records: 1 }, Readable.from([Buffer.from('{}\n')]))),
      records: 1,
      bytes: 3,
      sha256: '',
    });
  await first.commit(outcomes, manifest);
  await first.commit(outcomes.slice(0, 1), manifest);
  assert.deepEqual((await readdir(join(root, 'shorter'))).length, 2);
});

test('a full disk is worth another attempt, a forbidden folder is not', () => {
  const fault = (code: string) => Object.assign(new Error(code), { code, syscall: 'write' });
  assert.ok(fileError(fault('ENOSPC')) instanceof RetryableError);
  assert.ok(fileError(fault('EACCES')) instanceof NonRetryableError);
  const other = fault('EIO');
  assert.equal(fileError(other), other);
});

test('a full device is named', async () => {
  await mkdir(join(root, 'full'), { recursive: true });
  const sink = await file.open({ prefix: 'full' }, delivery(), deps);
  await symlink(
    '/dev/full',
    join(root, 'full', '.20150911T233000Z-20150912T000000Z-0123456789ab-0000.jsonl.1.tmp'),
  );
  await assert.rejects(
    sink.write({ number: 0, records: 1 }, Readable.from([Buffer.alloc(1 << 20)])),
    isPassing('disk_full'),
  );
});
