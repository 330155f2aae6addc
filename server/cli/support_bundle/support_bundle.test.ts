import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { extract } from 'tar';
import { insertRunRow, newExport } from '../../../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness } from '../../../test/harness.ts';
import { openTestStores } from '../../../test/harness_stores.ts';
import { readConfig, settings } from '../../config/config.ts';
import { openClickHouse } from '../../platform/clickhouse/client.ts';
import { silentLog } from '../../platform/log.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import { openSecrets } from '../../platform/secrets/secrets.ts';
import { supportBundle } from './command.ts';
import { openMask } from './mask.ts';

let harness: Harness;
let stores: Awaited<ReturnType<typeof openTestStores>>;
const folder = mkdtempSync(join(tmpdir(), 'sluice-support-test-'));
const secret_key = 'the-planted-secret-key-of-this-server';
before(async () => {
  stores = await openTestStores({ clickhouse: true });
  const application = { application_name: 'sluice-test', application: 'sluice-test' };
  harness = await openHarness({
    clickhouse: false,
    deps: {
      db: openDatabase(stores.database_url, { connections_max: 4, ...application }),
      clickhouse: openClickHouse(stores.clickhouse_url, application),
      secrets: openSecrets(secret_key),
    },
  });
});
after(async () => {
  await harness.close();
  await stores.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Creates a bundle and gives its files by name. */
async function bundleOf(environment: Record<string, string>, log: string[]) {
  const output = join(folder, 'bundle.tar.gz');
  const said: string[] = [];
  const config = readConfig({ SLUICE_DATA_DIR: join(folder, 'data'), ...environment });
  const context = { config, log: silentLog(), say: (line: string) => void said.push(line) };
  assert.equal(await supportBundle(context, { output, log }), 0);
  assert.equal(statSync(output).mode & 0o777, 0o600);
  const into = mkdtempSync(join(folder, 'into-'));
  await extract({ file: output, cwd: into });
  const [root] = readdirSync(into);
  const names = readdirSync(join(into, root!), { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => name.includes('.'));
  const text = (name: string) => readFileSync(join(into, root!, name), 'utf8');
  return { said: said.join('\n'), files: new Map(files.map((name) => [name, text(name)])) };
}

test('secrets that are planted everywhere are in no file of a bundle', async () => {
  const home = await harness.newOrganization();
  const planted = {
    of_destination: 'planted-destination-"token"',
    of_environment: 'planted-owner-password',
    of_header: 'planted header/with, signs',
    of_smtp: 'planted-smtp-password',
    of_backups: 'a planted sentence for backups',
    of_nobody: 'planted-and-known-to-nobody',
  };
  const { id } = await newExport(home, {
    destination: {
      type: 'HTTP',
      config: { url: 'https://example.com/', token: planted.of_destination },
    },
  });
  const run_id = await insertRunRow(harness, id, { status: 'Failed' });
  const nested = JSON.stringify({ body: JSON.stringify({ api_key: planted.of_nobody }) });
  const words =
    `It said ${planted.of_destination} AKIAPLANTEDPLANTED12, ${nested}` +
    ` and https://somebody:${planted.of_nobody}@host/?token=${planted.of_nobody}&x=1` +
    ` ${encodeURIComponent(planted.of_destination)} ${home.key} somebody@example.com`;
  await harness.deps.db.run(sql`UPDATE batch_export_runs SET latest_error = ${words}
    WHERE id = ${run_id}`);
  await harness.deps.db
    .run(sql`INSERT INTO batch_export_logs (batch_export_id, run_id, level, message)
    VALUES (${id}, ${run_id}, 'ERROR', ${words})`);
  const log = join(folder, 'server.log');
  writeFileSync(
    log,
    [
      JSON.stringify({ msg: words, password: planted.of_nobody, headers: { cookie: 'planted=1' } }),
      `  password   ${planted.of_nobody}`,
      `Authorization: Bearer ${planted.of_nobody}`,
      `-----BEGIN PRIVATE KEY-----\nplanted\n-----END PRIVATE KEY-----`,
      `${planted.of_environment} ${planted.of_smtp} ${planted.of_header} ${secret_key}`,
      `it was set to ${planted.of_backups}`,
      'a line without any',
    ].join('\n'),
  );
  const { said, files } = await bundleOf(
    {
      SLUICE_PORT: '1',
      SLUICE_DATABASE_URL: stores.database_url,
      SLUICE_CLICKHOUSE_URL: stores.clickhouse_url,
      SLUICE_SECRET_KEY: secret_key,
      SLUICE_OWNER_PASSWORD: planted.of_environment,
      SLUICE_BACKUP_PASSPHRASE: planted.of_backups,
      SLUICE_SMTP_URL: `smtps://user:${planted.of_smtp}@relay.example.com`,
      SLUICE_NPM_TOKEN: planted.of_nobody,
      OTEL_EXPORTER_OTLP_HEADERS: `key=${encodeURIComponent(planted.of_header)}`,
    },
    [log],
  );
  // The server did not write the planted rows; the search for secrets must not find them.
  await harness.deps.db.run(sql`DELETE FROM batch_exports WHERE id = ${id}`);
  for (const [name, text] of files) {
    assert.doesNotMatch(text, /planted/, `${name}: ${/.{60}planted.{20}/.exec(text)?.[0]}`);
    assert.doesNotMatch(text, /sl[ks]_|AKIA|somebody/, name);
    if (name.endsWith('.json')) assert.doesNotThrow(() => JSON.parse(text), name);
    if (name !== 'CONTENTS.txt') assert.ok(files.get('CONTENTS.txt')!.includes(name), name);
    assert.doesNotMatch(text, /is not available/, name);
  }
  assert.match(said, /Nothing was sent/);
  const rows = (name: string) => JSON.parse(files.get(name)!);
  assert.equal(rows('postgres/runs.json')[0].id, run_id);
  assert.match(rows('postgres/run_logs.json')[0].message, /^It said \*{8} \*{8}, /);
  assert.match(files.get('doctor.txt')!, /PostgreSQL/);
  assert.match(files.get('logs/server_1.log')!, /a line without any/);
  assert.ok(rows('clickhouse/tables.json').length >= 0 && rows('postgres/tables.json').length > 20);
  const read = rows('settings.json');
  assert.deepEqual(
    Object.keys(read),
    Object.values(settings).map(({ variable }) => variable),
  );
  assert.deepEqual([read.SLUICE_NPM_TOKEN, read.SLUICE_GITHUB_TOKEN], ['(set)', null]);
});

test('without stores the bundle says why, and has the rest', async () => {
  await assert.rejects(
    bundleOf({ SLUICE_PORT: '1' }, [join(folder, 'no-such.log')]),
    /^WrongUsageError: --log: there is no file .*no-such\.log\.$/,
  );
  const { files } = await bundleOf({ SLUICE_PORT: '1' }, []);
  assert.match(files.get('stores.txt')!, /has no Sluice data/);
  assert.match(files.get('healthz.txt')!, /No answer from/);
  assert.match(files.get('version.json')!, /"sluice": "/);
});

test('the mask leaves text without secrets unchanged', () => {
  for (const text of [
    '{"sent_ms":12,"token":null,"secrets":[],"is_secret":false}',
    'The export was created. Attempt 1: 30 rows in 1 slice.',
    'sluice_http_request_seconds_bucket{le="0.1",route="/api/users/:id/"} 3',
  ])
    assert.equal(openMask(['abc', ''])(text), text);
});
