import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { parse } from 'yaml';
import { startWorker } from '../../engine/exports/workers/worker.ts';
import type { Worker } from '../../engine/exports/workers/worker.ts';
import { eventually } from '../../../test/eventually.ts';
import { rowsIn, until } from '../../../test/factories/batch_exports/delivering_harness.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { openSluice, runSluice } from '../../../test/processes/sluice_process.ts';

const sluice = openSluice();
let harness: Harness;
let home: TestOrganization;
let address: string;
let folder: string;
let worker: Worker;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-config-'));
  harness = await openHarness({
    config: { export_dir: join(folder, 'exports'), settle_seconds: 1 },
  });
  const limits = { runs_max: 2, project_runs_max: 2, host_runs_max: 2 };
  worker = await startWorker(harness.deps.engine, limits);
  home = await harness.newOrganization();
  address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
});
after(async () => {
  await sluice.close();
  await worker.stop();
  rmSync(folder, { recursive: true });
  await harness.close();
});

const file = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const config = (words: string[], environment: Record<string, string> = {}) =>
  sluice.run(['config', ...words, '--url', address, '--key', home.key], environment);

const shop = (name: string) => `projects:
  web:
    name: ${name}
    batch_exports:
      rows:
        name: Rows
        interval: hour
        destination:
          type: File
          config: { prefix: '\${env:PLACE}' }
    notice_targets:
      hook: { type: webhook, url: { env: HOOK_URL }, batch_exports: [rows] }
`;
const variables = { PLACE: 'rows', HOOK_URL: 'https://hooks.example.com/pl4nted-path' };

test('plan, diff, apply and pull: what is applied leaves nothing to do', async () => {
  const path = file('shop.yaml', shop('Web'));
  const first = await config(['plan', path], variables);
  assert.equal(first.code, 0, first.err);
  assert.match(first.out, /^\+ create projects\.web "Web"$/m);
  assert.match(first.out, /^3 to create, 0 unchanged\.$/m);
  assert.equal((await config(['diff', '--exit-code', path], variables)).code, 1);
  const unasked = await config(['apply', path], variables);
  assert.deepEqual([unasked.code, /No terminal to ask on/.test(unasked.err)], [1, true]);
  const applied = await config(['apply', '--yes', path], variables);
  assert.equal(applied.code, 0, applied.err);
  assert.match(applied.out, /notice_targets\.hook\.secret is whsec_\S+ \(shown only now\)/);
  const again = await config(['diff', '--exit-code', path], variables);
  assert.deepEqual([again.code, again.out.trim()], [0, 'nothing to do, 3 unchanged.'], again.err);
  const pulled = join(folder, 'pulled.yaml');
  assert.equal((await config(['pull', pulled])).code, 0);
  const text = readFileSync(pulled, 'utf8');
  assert.match(text, /^# yaml-language-server: \$schema=http\S+\/api\/configuration\/schema\/\n/);
  assert.doesNotMatch(text, /pl4nted/);
  const read = parse(text) as { projects: Record<string, object> };
  assert.deepEqual(Object.keys(read.projects).toSorted(), ['default_project', 'web']);
  const twice = await config(['pull', pulled]);
  assert.deepEqual([twice.code, /name a new file/.test(twice.err)], [1, true]);
  const planned = await config(['plan', '--json', pulled]);
  const plan = JSON.parse(planned.out) as { steps: { action: string }[]; needs: unknown[] };
  assert.deepEqual([...new Set(plan.steps.map(({ action }) => action))], ['adopt']);
  assert.equal(plan.needs.length, 2);
  for (const { out, err } of [first, applied, again, planned])
    assert.doesNotMatch(out + err, /pl4nted/);
});

test('staging to production: the same files with other values deliver the same rows', async () => {
  const path = file('both.yaml', shop('${env:STAGE}'));
  const on = async (at: TestOrganization, stage: string) => {
    const words = ['apply', '--yes', '--json', path, '--url', address, '--key', at.key];
    const place = { STAGE: stage, PLACE: stage, HOOK_URL: `https://hooks.example.com/${stage}` };
    const done = await sluice.run(['config', ...words], place);
    assert.equal(done.code, 0, done.err);
    const { objects } = JSON.parse(done.out) as { objects: { kind: string; id: string }[] };
    const { id } = objects.find(({ kind }) => kind === 'batch_export')!;
    const project = objects.find(({ kind }) => kind === 'project')!.id;
    const events = [1, 2, 3].map((number) => ({
      event: `event ${number}`,
      distinct_id: 'a',
      timestamp: `2026-01-01T00:00:0${number}Z`,
      properties: { number },
    }));
    const sent = await harness.request('POST', `/api/projects/${project}/events/`, {
      key: at.key,
      body: { events },
    });
    assert.equal(sent.status, 200, sent.text);
    const one = `/api/organizations/${at.organization.id}/batch_exports/${id}/`;
    const from = '2026-01-01T00:00:00Z';
    const backfill = await harness.request('POST', `${one}backfill/`, {
      key: at.key,
      body: { start_at: from, end_at: '2026-01-01T01:00:00Z' },
    });
    assert.equal(backfill.status, 200, backfill.text);
    await until(
      () => harness.request('GET', `${one}backfills/`, { key: at.key }),
      ({ results }) => results[0].status === 'Completed',
    );
    const delivered = await rowsIn(join(folder, 'exports'), stage);
    // Fields that each server creates for an event are left out.
    const rows = delivered.map(({ event, distinct_id, timestamp, properties }) =>
      JSON.stringify({ event, distinct_id, timestamp, properties }),
    );
    rows.sort();
    const { body } = await harness.request('GET', one, { key: at.key });
    return { rows, path: body.destination.config.prefix as string };
  };
  const [one, other] = await Promise.all(
    ['staging', 'live'].map(async (stage) => on(await harness.newOrganization(), stage)),
  );
  assert.deepEqual(one!.rows, other!.rows);
  assert.equal(one!.rows.length, 3);
  assert.deepEqual([one!.path, other!.path], ['staging', 'live']);
});

test('exports that would change are tried, with their first rows; 1 when one fails', async () => {
  const at = await harness.newOrganization();
  const run = (words: string[]) =>
    sluice.run(['config', ...words, '--url', address, '--key', at.key], variables);
  const path = file('tried.yaml', shop('Web'));
  const created = await run(['apply', '--yes', '--json', path]);
  const { objects } = JSON.parse(created.out) as { objects: { kind: string; id: string }[] };
  const { id } = objects.find(({ kind }) => kind === 'project')!;
  await harness.request('POST', `/api/projects/${id}/events/`, {
    key: at.key,
    body: { events: [{ event: 'tried', distinct_id: 'a' }] },
  });
  assert.match((await run(['test', path])).out, /^No export would change\.$/m);
  assert.deepEqual(JSON.parse((await run(['test', '--json', path])).out), []);
  const place = { user: 'u', password: 'pl4nted', host: '127.0.0.1', port: 9, database: 'd' };
  const lost = JSON.stringify({
    lost: { name: 'Lost', interval: 'day', destination: { type: 'Postgres', config: place } },
  });
  const other = file(
    'tried.yaml',
    shop('Web')
      .replace('interval: hour', 'interval: day')
      .replace('batch_exports:\n', `batch_exports:\n      <<: ${lost}\n`),
  );
  const tried = await run(['test', other]);
  assert.equal(tried.code, 1, tried.out + tried.err);
  const lines = tried.out.split('\n');
  const rows = lines.indexOf('ok projects.web.batch_exports.rows');
  assert.deepEqual(lines[rows + 1], '   1 row of a preview', tried.out);
  assert.match(lines[rows + 2]!, /"event":"tried"/);
  assert.match(tried.out, /^FAILED projects\.web\.batch_exports\.lost: \S/m);
  const listed = JSON.parse((await run(['test', '--json', other])).out);
  assert.deepEqual(
    listed.map(({ path: at, is_ok, records }: any) => [at.split('.').at(-1), is_ok, records]),
    [
      ['lost', false, null],
      ['rows', true, 1],
    ],
  );
  assert.doesNotMatch(tried.out + tried.err + JSON.stringify(listed), /pl4nted/);
});

test('Ctrl-C before a plan is sent changes nothing; after it all holds or nothing', async () => {
  const at = await harness.newOrganization();
  const path = file('stopped.yaml', 'projects:\n  web:\n    name: Stopped\n');
  const words = ['config', 'apply', '--yes', path, '--url', address, '--key', at.key];
  const { db } = harness.deps;
  /** Stops the command while the server waits: every write for one lock, an apply for the other. */
  const stoppedWith = (lock: Sql) =>
    db.transaction(async (tx) => {
      await tx.row(sql`SELECT 1 FROM members
        WHERE organization_id = ${at.organization.id}::uuid ${lock}`);
      return runSluice(words, {}, async (kill) => {
        await eventually('the server waits for no lock', async () => {
          const waiting = await db.rows(sql`SELECT 1 FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'`);
          return waiting.length > 0;
        });
        kill('SIGINT');
      });
    });
  const early = await stoppedWith(sql`FOR UPDATE`);
  assert.deepEqual([early.code, early.err.trim()], [130, 'Nothing was changed.']);
  // The server plans all the same.
  await eventually('the plan was not kept', async () => {
    const plans = await db.rows(sql`SELECT 1 FROM configuration_plans
      WHERE organization_id = ${at.organization.id}::uuid`);
    return plans.length > 0;
  });
  const late = await stoppedWith(sql`FOR SHARE`);
  assert.equal(late.code, 130);
  assert.match(
    late.err,
    /The plan was sent, but no answer came\. It is applied completely or not\./,
  );
  // The server goes on without whoever asked.
  const count = () =>
    db.rows(sql`SELECT 1 FROM projects WHERE organization_id = ${at.organization.id}::uuid
      AND name = 'Stopped'`);
  await eventually('the plan was not applied', async () => (await count()).length === 1);
});

test('the command shows every refusal of the server at its place in the files', async () => {
  const one = file(
    'one.yaml',
    'projects:\n  bad:\n    name: ""\n    timezone: Nowhere\n    colour: red\n',
  );
  const other = file(
    'other.yaml',
    'projects:\n  bad:\n    batch_exports:\n      rows:\n        name: Rows\n' +
      '        interval: yearly\n        destination: { type: Postgres, config: {} }\n',
  );
  const refused = await config(['plan', one, other]);
  assert.equal(refused.code, 2);
  const places = refused.err
    .trim()
    .split('\n')
    .map((line) => line.replace(`${folder}/`, '').split(': ')[0]);
  assert.deepEqual(places, ['one.yaml:3:5', 'one.yaml:5:5', 'other.yaml:6:9'], refused.err);
  const rules = file('rules.yaml', 'projects:\n  bad:\n    name: Bad\n    timezone: Nowhere\n');
  const told = await config(['plan', rules]);
  assert.match(told.err, /rules\.yaml:4:5: projects\.bad\.timezone: Must be a name of the IANA/);
  const named = file('named.yaml', 'projects:\n  bad: { name: Bad }\n  a__b: { name: B }\n');
  assert.match((await config(['plan', named])).err, /named\.yaml:3:3: projects\.a__b: A key has/);
  const marked = file('marked.yaml', 'projects:\n  bad:\n    name: { env: SLUICE_NOT_SET }\n');
  assert.match((await config(['plan', marked])).err, /marked\.yaml:3:5: .* Write \$\{env:NAME\}/);
});

test('hostile names end no line, no cell and no code span', async () => {
  const at = await harness.newOrganization();
  const name = '"a | b</code> - [x](javascript:1) <b>"';
  const path = file('hostile.yaml', `projects:\n  web:\n    name: ${name}\n`);
  for (const words of [['plan'], ['plan', '--markdown']]) {
    const { out, code } = await sluice.run(
      ['config', ...words, path, '--url', address, '--key', at.key],
      {},
    );
    assert.equal(code, 0);
    assert.doesNotMatch(out, words.includes('--markdown') ? /<b>|\| b<|\]\(/ : /^- \[x\]/m);
  }
  const broken = file('broken.yaml', 'projects:\n  web:\n    name: "a\\u001b[2J\\nb"\n');
  const refused = await sluice.run(
    ['config', 'plan', broken, '--url', address, '--key', at.key],
    {},
  );
  assert.equal(refused.code, 2);
  assert.match(refused.err + refused.out, /line/);
  assert.ok(!(refused.err + refused.out).includes('\u001b'));
});
