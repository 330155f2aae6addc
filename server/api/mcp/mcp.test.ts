import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { agentOf, protocol_modes } from '../../../test/factories/agents.ts';
import { newExport, projectBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import { endedRun, failed } from '../../../test/factories/batch_exports/ended_runs.ts';
import { openHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { listed } from './agent_server.ts';
import { tools } from './tools.ts';

let home: TestOrganization;
const harness = aroundTests(openHarness, async (opened) => {
  home = await opened.newOrganization({ name: 'Home' });
});

const hourly = async (name: string) => (await newExport(home, { name })).id as string;
const namesFor = async (scopes: string[]) => {
  const agent = await agentOf(harness, await harness.newKey(home.user, { scopes }));
  const names = await agent.toolNames();
  await agent.close();
  return names;
};
const looking = [
  'list_exports',
  'get_export',
  'explain_delay',
  'list_runs',
  'read_logs',
  'list_slots',
  'find_record',
];

test('there are twelve tools at most, together 5,000 tokens at most', (context) => {
  const texts = tools.map((tool) => JSON.stringify(listed(tool)));
  // A token of English and JSON has more than four characters; three are counted.
  const tokens = Math.ceil(texts.join('').length / 3);
  context.diagnostic(
    `${tools.length} tools, ${texts.join('').length} characters, at most ${tokens} tokens ` +
      '(one for every three characters)',
  );
  assert.ok(tools.length <= 12);
  assert.ok(tokens <= 5_000, `${tokens} tokens`);
});

test('docs/agents.md has every tool with its scopes', () => {
  const page = readFileSync(new URL('../../../docs/agents.md', import.meta.url), 'utf8');
  for (const { name, scopes } of tools) {
    const line = page.split('\n').find((one) => one.startsWith(`| \`${name}\` |`));
    assert.ok(line !== undefined, `${name} has no line in the table of docs/agents.md`);
    const said = [...line.matchAll(/`([a-z_]+:[a-z]+)`/g)].map((match) => match[1]);
    assert.deepEqual(said, scopes, name);
  }
});

test('a key is offered what it can use, and nothing else', async () => {
  assert.deepEqual(await namesFor([]), ['list_projects']);
  assert.deepEqual(await namesFor(['batch_export:read']), ['list_projects', ...looking]);
  assert.deepEqual(await namesFor(['activity_log:read']), ['list_projects', 'read_activity']);
  assert.deepEqual(await namesFor(['batch_export:write']), [
    'list_projects',
    ...looking,
    'plan_backfill',
  ]);
  assert.deepEqual(
    await namesFor(['*']),
    tools.map(({ name }) => name),
  );
});

test('a key that is limited to projects is offered nothing of organizations', async () => {
  const key = await harness.newKey(home.user, { scopes: ['*'], scoped_teams: [home.project.id] });
  const agent = await agentOf(harness, key);
  assert.deepEqual(await agent.toolNames(), ['list_projects', ...looking, 'plan_backfill']);
  const { is_error } = await agent.call('apply_configuration', { hash: 'x' });
  assert.ok(is_error);
  const { data } = await agent.call('list_projects');
  assert.deepEqual(data.organizations, []);
  await agent.close();
});

test('every tool says whether it changes anything; one alone does', async () => {
  const agent = await agentOf(harness, home.key);
  const { tools: shown } = await agent.client.listTools();
  for (const tool of shown) {
    assert.equal(tool.annotations?.readOnlyHint, tool.name !== 'apply_configuration', tool.name);
    assert.equal(tool.annotations?.openWorldHint, false);
    assert.equal(tool.inputSchema.type, 'object');
  }
  await agent.close();
});

test('both revisions of the protocol give the same answers', async () => {
  const id = await hourly('Same for both');
  const answers = [];
  for (const mode of protocol_modes) {
    const agent = await agentOf(harness, home.key, mode);
    const { data } = await agent.call('get_export', { export: id });
    answers.push(data);
    await agent.close();
  }
  assert.deepEqual(answers[0], answers[1]);
  assert.equal(answers[0].id, id);
});

test('an agent finds its way from projects to why an export is late', async () => {
  const id = await hourly('Nightly orders');
  const run = await endedRun(harness, id, failed);
  const agent = await agentOf(harness, home.key);

  const { data: places } = await agent.call('list_projects');
  assert.deepEqual(places.key.scopes, ['*']);
  assert.deepEqual(
    places.organizations.map((one: any) => [one.id, one.forbids_agent_writes]),
    [[home.organization.id, false]],
  );
  assert.equal(places.projects[0].id, home.project.id);

  const { data: overview } = await agent.call('list_exports', { search: 'orders' });
  assert.equal(overview.exports.length, 1);
  assert.equal(overview.exports[0].name.untrusted_text, 'Nightly orders');
  assert.equal(overview.exports[0].health.code, 'failing');

  const { data: why } = await agent.call('explain_delay', { export: id });
  assert.equal(why.health.code, 'failing');
  assert.match(why.health.detail.untrusted_text, /The bucket may not be written to/);
  assert.deepEqual(
    why.runs_failed.map((one: any) => [one.id, one.error_code]),
    [[run, 'permission_denied']],
  );
  // Slots from before the export are no gaps.
  assert.deepEqual(why.gaps, []);
  assert.equal(
    why.open,
    `${harness.deps.config.public_url}/projects/${home.project.id}/exports/${id}`,
  );

  const { data: runs } = await agent.call('list_runs', { export: id, status: 'Failed' });
  assert.deepEqual(
    runs.runs.map((one: any) => one.id),
    [run],
  );
  const { data: logs } = await agent.call('read_logs', { export: id, limit: 1 });
  assert.equal(logs.lines.length, 1);
  const { data: of_run } = await agent.call('read_logs', { export: id, run });
  assert.ok(of_run.lines.every((line: any) => line.run === run));
  const { data: slots } = await agent.call('list_slots', { export: id, only_gaps: true });
  assert.ok(slots.ranges.every((range: any) => range.state !== 'waiting'));
  const { data: activity } = await agent.call('read_activity', { item_id: id });
  assert.equal(activity.entries[0].activity, 'created');
  const range = { start_at: '2026-01-01T00:00:00Z', end_at: '2026-01-01T03:00:00Z' };
  const { data: plan } = await agent.call('plan_backfill', { export: id, ...range });
  assert.equal(plan.runs, 3);
  await agent.close();
  const backfills = await home.ask('GET', `${projectBase(home)}${id}/backfills/`);
  assert.equal(backfills.body.count, 0, 'a plan begins nothing');
});

test('pages of runs and of the log follow each other', async () => {
  const id = await hourly('Many runs');
  const ids = [];
  for (let number = 0; number < 3; number += 1) ids.push(await endedRun(harness, id, failed));
  const agent = await agentOf(harness, home.key);
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const { data } = await agent.call('list_runs', {
      export: id,
      limit: 2,
      ...(cursor === undefined ? {} : { cursor }),
    });
    seen.push(...data.runs.map((one: any) => one.id));
    cursor = data.next_cursor;
  } while (cursor !== undefined);
  assert.deepEqual(seen.toSorted(), ids.toSorted());
  const { data: log } = await agent.call('read_activity', { limit: 1 });
  assert.equal(typeof log.next_cursor, 'string');
  const { data: more } = await agent.call('read_activity', { limit: 1, cursor: log.next_cursor });
  assert.equal(more.entries[0].number, log.entries[0].number - 1);
  await agent.close();
});

test('an event is found with its deliveries', async () => {
  const id = await hourly('Where is it');
  const uuid = '0a4a2f6e-58b4-4f7b-9d3e-1c3a5d7e9f01';
  const sent = await home.ask('POST', `/api/projects/${home.project.id}/events/`, {
    event: 'Ordered',
    distinct_id: 'anna',
    uuid,
  });
  assert.equal(sent.status, 200, sent.text);
  const agent = await agentOf(harness, home.key);
  const { data } = await agent.call('find_record', { uuid, export: id });
  assert.equal(data.records[0].event.untrusted_text, 'Ordered');
  assert.equal(data.records[0].exports[0].batch_export, id);
  assert.equal(data.records[0].exports[0].state, 'waiting');
  await agent.close();
});

test('an agent reads the refusal of a tool or of the API, not a protocol fault', async () => {
  const agent = await agentOf(harness, home.key);
  const unknown = '01890000-0000-7000-8000-000000000000';
  const stranger = await harness.newOrganization();
  const cases: [string, Record<string, unknown>, number, RegExp, 'of the tool'?][] = [
    ['get_export', { export: unknown }, 404, /^Not found\.$/],
    ['get_export', { export: '../../users' }, 400, /Must be a UUID/, 'of the tool'],
    ['list_exports', { project: stranger.project.id }, 404, /^Not found\.$/],
    ['list_exports', { project: 'one' }, 400, /whole number/, 'of the tool'],
    ['list_exports', { health: 'fine' }, 400, /Must be one of "failing"/],
    ['read_activity', { organization: stranger.organization.id }, 404, /^Not found\.$/],
    ['find_record', {}, 400, /Send `uuid`/],
  ];
  for (const [name, args, status, words, whose] of cases) {
    const { is_error, data } = await agent.call(name, args);
    assert.ok(is_error, name);
    assert.equal(data.status, status, name);
    const { detail } = data.errors[0];
    // Only the API's text is marked as untrusted, since the tool's text quotes nobody.
    assert.match(detail.untrusted_text ?? detail, words, name);
    assert.equal(typeof detail === 'string', whose !== undefined, name);
  }
  await assert.rejects(agent.call('drop_tables'), /There is no tool with this name/);
  await agent.close();
});

test('a key that reads cannot call what it is not offered', async () => {
  const key = await harness.newKey(home.user, { scopes: ['batch_export:read'] });
  const agent = await agentOf(harness, key);
  const { is_error, data } = await agent.call('apply_configuration', { hash: 'x' });
  assert.ok(is_error);
  assert.match(data.detail, /cannot use this tool/);
  const backfill = await agent.call('plan_backfill', {
    export: await hourly('Not for reading keys'),
    start_at: '2026-01-01T00:00:00Z',
    end_at: '2026-01-01T03:00:00Z',
  });
  assert.equal(backfill.data.status, 403);
  await agent.close();
});

test('a call of a tool counts as a request of the key', async () => {
  const limited = await openHarness({
    clickhouse: false,
    config: { rate_limit_per_minute: 6, rate_limit_per_hour: 0 },
  });
  const { key } = await limited.newOrganization();
  const agent = await agentOf(limited, key);
  // Two messages open the session, a call and what it asks are three more.
  const { is_error } = await agent.call('list_exports');
  assert.equal(is_error, false);
  const refused = await agent.call('list_projects');
  assert.equal(refused.is_error, true);
  assert.equal(refused.data.status, 429);
  await agent.close().catch(() => undefined);
  await limited.close();
});
