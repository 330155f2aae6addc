import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { erasing } from '../../../../test/factories/events/erasures.ts';
import { enabledPlugin } from '../../../../test/factories/plugins/running_plugins.ts';
import {
  harness,
  home,
  openAroundTests,
  run,
  soon,
  stopAll,
  target,
  taken,
} from '../../../../test/factories/plugins/plugin_runs.ts';

openAroundTests();
const { ask, send, work } = erasing(() => ({ harness }));

const collection = () => `/api/organizations/${home.organization.id}/pipeline_destinations/`;
const list = () => `/api/projects/${home.project.id}/plugin_configs/`;

/** Installs a tool, and switches it on with its presets, or else with the mapping of its action. */
async function tool(name: string, config: object): Promise<{ url: string; id: number }> {
  const installed = await home.ask('POST', collection(), { plugin_type: 'repository', name });
  assert.equal(installed.status, 201, installed.text);
  const source = await home.ask('GET', `${collection()}${installed.body.id}/source/`);
  const { presets, templates } = JSON.parse(source.body.source['destination.json']);
  const mapping = { url: `${target.url}/in`, method: 'POST', data: { '@path': '$.' } };
  const mappings = presets.length > 0 ? presets : [{ ...templates[0], mapping }];
  const created = await home.ask('POST', list(), {
    plugin: installed.body.id,
    enabled: true,
    config: { ...config, mappings: JSON.stringify(mappings) },
    allowed_hosts: ['127.0.0.1'],
  });
  assert.equal(created.status, 201, created.text);
  return { url: `${list()}${created.body.id}/`, id: created.body.id };
}

const xtremepush = () => tool('Xtremepush', { url: target.url, apiKey: 'a-secret-of-the-tool' });
/** The ids that the tool was asked to forget. */
const forgotten = () =>
  target.taken.filter((body) => body.type === undefined).map(({ userId }) => userId);

async function erase(distinct_ids: string[]): Promise<string> {
  const asked = await ask(home, 'POST', 'erasures/', { distinct_ids });
  assert.equal(asked.status, 201, asked.text);
  return asked.body.id;
}
const tools = async (id: string) => (await ask(home, 'GET', `erasures/${id}/tools/`)).body.results;
const statesOf = (found: { name: string; state: string }[]) =>
  Object.fromEntries(found.map(({ name, state }) => [name, state]));

test('an erasure tells each tool that can delete, and says which cannot', async () => {
  const { url } = await xtremepush();
  await tool('Webhook', {});
  const off = await tool('Accoil Analytics', { api_key: 'x' });
  assert.equal((await home.ask('PATCH', off.url, { enabled: false })).status, 200);
  await enabledPlugin(harness, home, 'pipeline_destinations', 'export function onEvent() {}', {
    fields: [],
  });
  await send(home, [
    { event: 'seen', distinct_id: 'visitor-1' },
    {
      event: '$identify',
      distinct_id: 'ada@x.org',
      properties: { $anon_distinct_id: 'visitor-1' },
    },
    { event: 'stays', distinct_id: 'bob@x.org' },
  ]);
  run();
  await taken(5);
  const id = await erase(['ada@x.org']);
  const done = await work(home, id);
  await stopAll();
  assert.deepEqual(forgotten(), ['ada@x.org', 'visitor-1']);
  const found = await tools(id);
  const states = statesOf(found);
  assert.deepEqual([states['Xtremepush'], states['Webhook']], ['told', 'cannot']);
  assert.deepEqual(done.tools, { waiting: 0, told: 1, cannot: 3, failed: 0 });
  const told = found.find(({ name }: { name: string }) => name === 'Xtremepush');
  assert.deepEqual([told.ids, told.told, told.detail], [2, 2, null]);
  assert.ok(told.told_at !== null);
  const { tools: certified } = JSON.parse(done.certificate);
  assert.deepEqual(statesOf(certified), states);
  assert.doesNotMatch(done.certificate, /ada@x|visitor-1/);
  const kept = await harness.deps.db.rows(
    sql`SELECT 1 FROM erasure_tools WHERE ids_sealed IS NOT NULL`,
  );
  assert.deepEqual(kept, []);
  assert.doesNotMatch((await home.ask('GET', `${url}logs/`)).text, /ada@x|visitor-1/);
});

test('a tool that does not answer is told later, and a refusal says why', async () => {
  await xtremepush();
  let failed = 0;
  target.answer = ({ type, userId }, path) => {
    if (!path.endsWith('/delete') || type !== undefined) return undefined;
    if (userId === 'carl') return 422;
    return (failed += 1) <= 3 ? 503 : undefined;
  };
  await send(home, [
    { event: 'seen', distinct_id: 'ada' },
    { event: 'seen', distinct_id: 'carl' },
    { event: 'seen', distinct_id: '../customers/bob' },
  ]);
  run();
  await taken(3);
  const id = await erase(['ada', 'carl', '../customers/bob']);
  await work(home, id);
  await stopAll();
  assert.deepEqual(forgotten(), ['ada']);
  const [{ state, told, detail }] = await tools(id);
  assert.deepEqual([state, told], ['failed', 1]);
  assert.match(detail, /422|characters/);
});

test('a kill repeats what was not noted, and leaves nothing out', async () => {
  const { id: config_id } = await xtremepush();
  const ids = Array.from({ length: 6 }, (_, at) => `person-${at}`);
  await send(
    home,
    ids.map((distinct_id) => ({ event: 'seen', distinct_id })),
  );
  run();
  await taken(6);
  // The third answer is lost with the worker: another one takes the config over.
  let release: (() => void) | undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  target.before_answer = async ({ type, userId }) => {
    if (type === undefined && userId === 'person-2') await held;
  };
  const erasure = await erase(ids);
  const over = work(home, erasure);
  await soon('two ids', async () => (forgotten().length >= 2 ? true : undefined));
  await harness.deps.db.run(sql`UPDATE plugin_cursors SET leased_by = gen_random_uuid(),
    leased_until = now() WHERE plugin_config_id = ${config_id}`);
  target.before_answer = async () => {};
  release!();
  await over;
  await stopAll();
  assert.deepEqual([...new Set(forgotten())], ids);
  assert.ok(forgotten().length <= ids.length + 1);
  assert.equal((await tools(erasure))[0].state, 'told');
});

test('a tool that is switched off meanwhile does not hold the certificate', async () => {
  const { url } = await xtremepush();
  await send(home, [{ event: 'seen', distinct_id: 'ada' }]);
  run();
  await taken(1);
  await stopAll();
  const id = await erase(['ada']);
  await work(home, id, 'certify');
  assert.equal((await home.ask('PATCH', url, { enabled: false })).status, 200);
  await work(home, id);
  const [{ state, detail }] = await tools(id);
  assert.deepEqual([state, detail], ['failed', 'The tool was switched off before it was told.']);
});
