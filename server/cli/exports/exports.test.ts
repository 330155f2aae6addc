import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startWorker } from '../../engine/exports/workers/worker.ts';
import type { Worker } from '../../engine/exports/workers/worker.ts';
import { folderAroundTests } from '../../../test/around_tests.ts';
import { eventually } from '../../../test/eventually.ts';
import { insertRunRow } from '../../../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { leastEnvironment, openSluice } from '../../../test/processes/sluice_process.ts';

const sluice = openSluice();
const folder = folderAroundTests();
let harness: Harness;
let home: TestOrganization;
let worker: Worker;
let environment: Record<string, string>;
before(async () => {
  harness = await openHarness({
    config: { export_dir: join(folder, 'exports'), settle_seconds: 1 },
  });
  const limits = { runs_max: 2, project_runs_max: 2, host_runs_max: 2 };
  worker = await startWorker(harness.deps.engine, limits);
  home = await harness.newOrganization();
  const address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
  environment = { SLUICE_URL: address, SLUICE_API_KEY: home.key };
});
after(async () => {
  await sluice.close();
  await worker.stop();
  await harness.close();
});

/** The output of a command that succeeds, and the code and words of one that does not. */
const run = async (...words: string[]) => {
  const { code, out, err } = await sluice.run(words, environment);
  assert.equal(code, 0, `${words.join(' ')}: ${err}`);
  return out;
};
const refused = async (...words: string[]) => {
  const { code, out, err } = await sluice.run(words, environment);
  assert.equal(out, '', words.join(' '));
  return [code, err.trim()] as const;
};
const create = (name: string, ...more: string[]) =>
  run('exports', 'create', name, '--to', 'file', '--every', '5m', '-c', `prefix=${name}`, ...more);

test('create, list, show, pause and resume: lines for programs, JSON for all', async () => {
  const id = (await create('first', '-c', 'compression=gzip', 'max_file_size_mb=20')).trim();
  assert.match(id, /^[0-9a-f-]{36}$/);
  const [line, ...others] = (await run('exports', 'list', '--search', 'first')).split('\n');
  assert.deepEqual(others, ['']);
  const columns = line!.split('\t');
  const [since, cause] = columns.splice(6);
  assert.deepEqual(columns, ['first', 'File', 'every 5 minutes', 'waiting', '', id]);
  assert.match(since!, /^\d{4}-\d\d-\d\d[T ]/);
  assert.equal(cause, '');
  const [listed] = JSON.parse(await run('exports', 'list', '--json', '--search', 'first'));
  assert.equal(listed.id, id);
  const shown = JSON.parse(await run('exports', 'show', 'first', '--json'));
  assert.deepEqual(
    [shown.destination.config.compression, shown.destination.config.max_file_size_mb],
    ['gzip', 20],
  );
  assert.match(await run('exports', 'show', id), /^ {2}compression\tgzip$/m);
  assert.match(await run('exports', 'pause', 'first'), /^Paused first\./);
  assert.equal((await run('exports', 'list', '--health', 'paused')).split('\t')[0], 'first');
  assert.equal(JSON.parse(await run('exports', 'unpause', id, '--json')).paused, false);
  assert.equal(await run('exports', 'resume', 'first', '--backfill'), 'Resumed first.\n');
});

test('import, backfill, logs and runs; a run delivers what came in since', async () => {
  const id = (await create('rows')).trim();
  const file = join(folder, 'rows.ndjson');
  const at = '2026-01-02T03:04:05Z';
  writeFileSync(file, `${JSON.stringify({ event: 'a', distinct_id: 'b', timestamp: at })}\n`);
  assert.match(await run('import', file), /1 event stored/);
  const range = ['--from', '2026-01-02T03:00:00Z', '--to', '2026-01-02T04:00:00+00:00'];
  const dry = JSON.parse(await run('exports', 'backfill', 'rows', ...range, '--dry-run', '--json'));
  assert.deepEqual([dry.status, dry.progress.records_total_count], ['DryRun', 1]);
  assert.match(
    await run('exports', 'backfill', 'rows', ...range, '--dry-run'),
    /It would deliver 1 row in 1 of \d+ runs?\. 0 rows of the range are delivered already/,
  );
  const done = await run('exports', 'backfill', 'rows', ...range, '--wait');
  assert.match(done, /^Backfill ended: Completed\. Delivered 1 row in 1 run/);
  const logs = (await run('exports', 'logs', 'rows')).trim().split('\n');
  assert.match(logs.at(-1)!, /^2\S+Z\tINFO\tBackfill ended: Completed/);
  assert.match(logs[0]!, /\tINFO\tThe export was created/);
  const [run_line] = (await run('runs', 'list', 'rows', '--status', 'Completed')).split('\n');
  assert.deepEqual(run_line!.split('\t').slice(0, 2), ['Completed', 'backfill']);
  const runs = JSON.parse(await run('runs', 'list', id, '--json', '--limit', '100'));
  const whole = runs.find((one: any) => one.records_completed === 1);
  assert.equal(await run('runs', 'watch', 'rows', whole.id), 'Completed, 1 of 1 row\n');
  const ended = JSON.parse(await run('exports', 'run', 'rows', '--wait', '--json'));
  assert.deepEqual([ended.status, ended.by], ['Completed', 'inserted_at']);
  const [code, said] = await refused('runs', 'retry', 'rows', whole.id);
  assert.deepEqual([code, /The run has completed/.test(said)], [1, true]);
  assert.match((await refused('runs', 'cancel', 'rows', whole.id))[1], /The run has ended/);
});

test('a day and a week of an export turn when the options say', async () => {
  const zone = ['--timezone', 'Europe/Berlin'];
  const place = ['--to', 'file', '-c', 'prefix=turned'];
  for (const [name, expected, ...words] of [
    ['daily', 'day 06:00', '--every', 'day', '--at', '06:00'],
    ['weekly', 'week sunday 06:30', '--every', '1w', '--on', 'sun', '--at', '6:30'],
  ] as const) {
    await run('exports', 'create', name, ...place, ...zone, ...words);
    const shown = await run('exports', 'show', name);
    const [interval, turn] = ['interval', 'turns at'].map(
      (field) => new RegExp(`^${field}\\t(.*)$`, 'm').exec(shown)?.[1],
    );
    assert.equal(`${interval} ${turn}`, `${expected} Europe/Berlin`, shown);
  }
  for (const [words, said] of [
    [['--at', 'six'], /--at takes a time, such as 06:00, not "six"/],
    [['--at', '24:00'], /--at takes a time, such as 06:00, not "24:00"/],
    [['--every', 'week', '--on', 'someday'], /--on takes a day of the week, such as sunday/],
    [['--timezone', 'Nowhere'], /timezone: Must be a name of the IANA time zone database/],
  ] as const) {
    const [, told] = await refused('exports', 'create', 'x', ...place, '--every', 'day', ...words);
    assert.match(told, said);
  }
});

test('the way of rows into a table is an option', async () => {
  const place = ['user=u', 'password=p', 'host=h', 'database=d'];
  const to = ['--to', 'postgres', '--every', 'day', '-c', ...place];
  const shown = async (name: string, ...words: string[]) => {
    await run('exports', 'create', name, ...to, ...words);
    return JSON.parse(await run('exports', 'show', name, '--json'));
  };
  const merged = await shown(
    'merged',
    '--mode',
    'merge',
    '--primary-key',
    'uuid',
    'event',
    '--version-key',
    'inserted_at',
  );
  assert.deepEqual([merged.mode, merged.primary_key], ['merge', ['uuid', 'event']]);
  const replaced = await shown('replaced', '--mode', 'replace', '--allow-empty');
  assert.deepEqual([replaced.mode, replaced.allow_empty], ['replace', true]);
  const [, told] = await refused('exports', 'create', 'x', ...to, '--mode', 'overwrite');
  assert.match(told, /mode: /);
});

test('a destination that fails its test creates nothing', async () => {
  const words = ['-c', 'url=http://127.0.0.1:2/', '--every', 'hour'];
  const [code, said] = await refused('exports', 'create', 'x', '--to', 'http', ...words, '--test');
  assert.deepEqual([code, /failed its test, and nothing was created/.test(said)], [1, true], said);
  assert.equal(await run('exports', 'list', '--search', 'x'), '');
});

test('failed runs: watch ends with 1, retry runs them again, cancel takes one back', async () => {
  const id = (await create('failed', '--paused')).trim();
  const statuses = ['FailedRetryable', 'FailedRetryable', 'Failed'] as const;
  const [one] = await Promise.all(
    statuses.map((status, hour) => insertRunRow(harness, id, { status, hour })),
  );
  const watched = await sluice.run(['runs', 'watch', 'failed', one!], environment);
  assert.deepEqual([watched.code, watched.out], [1, 'FailedRetryable, 0 rows\n']);
  const retried = (await run('runs', 'retry', 'failed', one!)).trim();
  assert.notEqual(retried, one);
  assert.match(await run('runs', 'watch', 'failed', retried), /^Completed, 0 of 0 rows$/m);
  assert.match(await run('exports', 'retry', 'failed'), /^[^\n]*\d[^\n]*\.\n$/);
  assert.equal(await run('exports', 'retry', 'rows'), 'There was nothing to do.\n');
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const waiting = await insertRunRow(harness, id, { hour: 9, due_at: later });
  assert.match(await run('runs', 'cancel', 'failed', waiting), /^Cancel/);
  const ended = await sluice.run(['runs', 'watch', 'failed', waiting], environment);
  assert.deepEqual([ended.code, /^Cancelled/m.test(ended.out)], [1, true], ended.out);
  assert.deepEqual(await refused('runs', 'watch', 'failed', 'not-an-id'), [
    1,
    'This record does not exist, or the key may not read it: check the id and --project.',
  ]);
  const empty = await create('empty');
  assert.match((await refused('runs', 'watch', empty.trim()))[1], /no run yet: `sluice exports/);
});

test('logs --follow continues with new lines, each once, until it is ended', async () => {
  await create('followed');
  const words = ['exports', 'logs', 'followed', '--follow', '--limit', '1', '--json'];
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../main.ts'), ...words], {
    env: { ...leastEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  const messages = () =>
    out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).message as string]));
  const shows = (count: number, beginning: string) =>
    eventually(
      `no "${beginning}"`,
      () => messages().filter((line) => line.startsWith(beginning)).length === count,
    );
  await shows(1, 'The export was created');
  for (const round of [1, 2]) {
    await run('exports', 'pause', 'followed');
    await shows(round, 'Paused');
    await run('exports', 'resume', 'followed');
    await shows(round, 'Unpaused');
  }
  child.kill('SIGINT');
  await once(child, 'close');
  assert.equal(messages().length, 5, out);
});

test('a wrong argument is answered with the possible ones', async () => {
  await create('twice');
  await create('twice');
  const cases: [string[], number, RegExp][] = [
    [['show', 'none'], 1, /no export "none" in this project\. `sluice exports list`/],
    [['show', 'firs'], 1, /no export "firs" in this project\. Similar:\n {2}\S+ {2}first/],
    [['show', 'twice'], 1, /Several exports have the name "twice": give the id of one\.\n {2}\S/],
    [['create', 'a', '--to', 'nowhere', '--every', '5m'], 2, /--to takes one of S3, .*"nowhere"/],
    [
      ['create', 'a', '--to', 'file', '--every', '3m', '-c', 'prefix=a'],
      2,
      /^--every takes 1m, 5m, 15m, hour, day or week, not "3m"\.$/,
    ],
    [['create', 'a', '--to', 'file', '--every', '5m', '-c', 'no=1'], 2, /no key no\. It has/],
    [['create', 'a', '--to', 'file', '--every', '5m', '-c', 'prefix'], 2, /takes name=value/],
    [['create', 'a', '--to', 's3', '--every', '5m', '-c', 'part=1', 'a=b'], 2, /has no key part/],
    [
      ['create', 'a', '--to', 'postgres', '--every', '5m', '-c', 'port=x'],
      2,
      /--config port takes integer, not "x"/,
    ],
    [
      ['create', 'a', '--to', 'postgres', '--every', '5m', '-c', 'password=@/dev/null'],
      2,
      /--config password: \/dev\/null is empty/,
    ],
    [['create', 'a', '--to', 'postgres', '--every', 'day'], 1, /destination\.config\.host: /],
    [['create', 'a', '--to', 'file', '--every', '1h', '--at', '6:00'], 2, /--at needs --every day/],
    [
      ['create', 'a', '--to', 'file', '--every', 'day', '--on', 'sun'],
      2,
      /--on needs --every week/,
    ],
    [['create', 'a'], 2, /required option '--to/],
    [['backfill', 'first', '--from', 'monday'], 2, /takes an instant with its zone.*"monday"/],
    [['backfill', 'first', '--from', '2026-01-02T10:00'], 2, /takes an instant with its zone/],
    [['backfill', 'first', '--from', '2026-02-30'], 2, /takes an instant with its zone/],
    [['list', '--limit', '0'], 2, /--limit takes a whole number/],
    [['list', '--health', 'well'], 1, /^health/],
    [['list', '--project', '999999'], 1, /no such record/],
    [['nothing'], 2, /unknown command 'nothing'/],
  ];
  for (const [words, code, said] of cases) {
    const [found, told] = await refused('exports', ...words);
    assert.match(told, said);
    assert.equal(found, code, words.join(' '));
  }
});
