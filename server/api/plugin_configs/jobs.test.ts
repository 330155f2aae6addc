import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Answer, TestOrganization } from '../../../test/harness.ts';
import { setPluginsLevel } from '../../../test/factories/plugins/plugins.ts';
import {
  enabledPlugin,
  logLines,
  openPluginTarget,
} from '../../../test/factories/plugins/running_plugins.ts';
import { until } from '../../../test/processes/server_process.ts';
import { runPlugins } from '../../cli/run_plugins.ts';

const code = `
  export const onEvent = () => {};
  export const jobs = {
    'Send it': async (payload, { config }) => {
      await fetch(config.address, { method: 'POST', body: JSON.stringify(payload) });
      if (payload.word === 'fail') throw new Error('No such word.');
    },
    hidden: () => {},
  };`;
const publicJobs = {
  'Send it': {
    payload: {
      word: { type: 'string', required: true },
      times: { type: 'number', default: 2 },
    },
  },
  'Not in the code': {},
};

let home: TestOrganization;
let url: string;
let id: number;
const harness = aroundTests(openHarness);
const target = aroundTests(openPluginTarget);
beforeEach(async () => {
  home = await harness.newOrganization();
  const created = await enabledPlugin(harness, home, 'pipeline_destinations', code, {
    config: { address: target.url },
    publicJobs,
  });
  [url, id] = [created.url, created.id];
  target.taken.length = 0;
});

const start = (body: unknown, more: Record<string, unknown> = {}, query = ''): Promise<Answer> =>
  harness.request('POST', `${url}jobs/${query}`, { key: home.key, body, ...more });
const waiting = async (): Promise<number> =>
  (await harness.deps.db.row<{ count: number }>(
    sql`SELECT count(*) AS count FROM plugin_jobs WHERE plugin_config_id = ${id}`,
  ))!.count;

test('a person starts a job: it has payload and defaults, the log says how it ended', async () => {
  const good = await start({ name: 'Send it', payload: { word: 'hello' } });
  assert.equal(good.status, 201, good.text);
  assert.deepEqual(good.body.payload, { word: 'hello', times: 2 });
  const bad = await start({ name: 'Send it', payload: { word: 'fail', times: 0 } });
  const runner = runPlugins(harness.deps, { retry_seconds: 0.05, idle_seconds: 1 });
  try {
    const lines = await until('both ends', 60_000, 20, async () => {
      const found = await logLines(home, url);
      return found.length >= 2 ? found : undefined;
    });
    assert.deepEqual(target.taken, [
      { word: 'hello', times: 2 },
      { word: 'fail', times: 0 },
    ]);
    assert.equal(lines[0], `INFO The job Send it (${good.body.id}) is done.`);
    assert.match(lines[1]!, /^ERROR The job Send it failed: No such word\. \(index\.ts:\d+:\d+\)/);
  } finally {
    await runner.stop();
  }
  assert.equal(bad.status, 201);
  const entry = (await harness.deps.db.row<{ changes: unknown; activity: string }>(
    sql`SELECT activity, changes FROM activity WHERE scope = 'plugin_config'
      AND item_id = ${String(id)} ORDER BY number DESC LIMIT 1`,
  ))!;
  assert.equal(entry.activity, 'job_started');
  assert.deepEqual(
    (entry.changes as { field: string; after: unknown }[]).map(({ field, after: now }) => [
      field,
      now,
    ]),
    [
      ['job', 'Send it'],
      ['payload.word', 'fail'],
      ['payload.times', 0],
    ],
  );
});

test('a job that cannot start is refused with its field, and nothing waits', async () => {
  const violations = async (body: unknown): Promise<unknown> => {
    const { status, body: answer } = await start(body);
    return [
      status,
      answer.errors.map(({ attr, code: of }: { attr: string; code: string }) => [attr, of]),
    ];
  };
  assert.deepEqual(await violations({}), [400, [['name', 'required']]]);
  assert.deepEqual(await violations({ name: 'hidden' }), [400, [['name', 'invalid_choice']]]);
  assert.deepEqual(await violations({ name: 'Not in the code' }), [
    400,
    [['name', 'invalid_choice']],
  ]);
  assert.deepEqual(await violations({ name: 'Send it', payload: 'word' }), [
    400,
    [['payload', 'invalid_input']],
  ]);
  assert.deepEqual(await violations({ name: 'Send it', payload: { times: '2', nobody: 1 } }), [
    400,
    [
      ['payload__nobody', 'unknown_field'],
      ['payload__word', 'required'],
      ['payload__times', 'invalid_input'],
    ],
  ]);
  const { status } = await start(
    { name: 'Send it', payload: { word: 'x' } },
    {},
    '?validate_only=true',
  );
  assert.deepEqual([status, await waiting()], [200, 0]);
});

test('the record cannot make a job public; a disabled config starts none', async () => {
  const body = { name: 'Send it', payload: { word: 'x' } };
  await home.ask('PATCH', url, { enabled: false });
  const disabled = await start(body);
  assert.deepEqual(
    [disabled.status, disabled.body.errors?.[0]?.code ?? disabled.body.code],
    [409, 'conflict'],
  );
  await home.ask('PATCH', url, { enabled: true });
  const { body: config } = await home.ask('GET', url);
  const { id } = home.organization;
  const record = `/api/organizations/${id}/pipeline_destinations/${config.plugin}/`;
  const patched = await home.ask('PATCH', record, { public_jobs: { hidden: {} } });
  assert.equal(patched.status, 200);
  assert.equal((await start({ name: 'hidden' })).status, 400);
  const stranger = await harness.newOrganization();
  assert.equal((await start(body, { key: stranger.key })).status, 404);
  await setPluginsLevel(harness, home, 0);
  assert.equal((await start(body)).status, 403);
  assert.equal(await waiting(), 0);
});

test('the same Idempotency-Key starts one job', async () => {
  const body = { name: 'Send it', payload: { word: 'x' } };
  const headers = { 'idempotency-key': 'once-and-no-more' };
  const [one, other] = [await start(body, { headers }), await start(body, { headers })];
  assert.deepEqual([one.status, other.body.id, await waiting()], [201, one.body.id, 1]);
});
