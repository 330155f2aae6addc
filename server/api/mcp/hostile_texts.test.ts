import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { agentOf } from '../../../test/factories/agents.ts';
import type { Agent } from '../../../test/factories/agents.ts';
import { newExport, projectBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import { endedRun, failed } from '../../../test/factories/batch_exports/ended_runs.ts';
import { inDepth } from '../../../test/depth.ts';
import { hostile_texts } from '../../../test/factories/hostile_texts.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { writeRunLog } from '../../engine/model/run_log.ts';

/** Secrets planted where a customer's secrets are; none of them may reach an agent. */
const planted = {
  password: 'pl4nted-password-of-postgres',
  secret: 'pl4nted-secret-access-key',
  header: 'pl4nted-bearer-of-webhook',
};
/**
 * Tables that requests write to without a change: counts of requests by key, the time of the last
 * one, refusals, and plans kept for an hour.
 */
const not_a_change = new Set([
  'rate_counts',
  'personal_api_keys',
  'configuration_plans',
  'security_events',
]);
const reading_scopes = [
  'organization:read',
  'organization_member:read',
  'batch_export:read',
  'plugin:read',
  'project:read',
  'user:read',
  'activity_log:read',
];

const harness = shareHarness({
  opened: async () => {
    home = await harness.newOrganization({ name: hostile_texts[0]!.slice(0, 64) });
    exports = await plantExports();
    uuids = await plantEvents();
    await plantLines();
  },
});
let home: TestOrganization;
let exports: string[];
let uuids: string[];

/** The number of texts that are names of exports (several pages); the others are in log lines. */
const names_max = inDepth(25, 80);

/** Names as long as the API takes them, and secrets in the destinations. */
async function plantExports(): Promise<string[]> {
  const ids: string[] = [];
  const s3 = {
    bucket_name: 'orders',
    region: 'eu-central-1',
    prefix: 'x',
    aws_access_key_id: 'AKIAEXAMPLE',
    aws_secret_access_key: planted.secret,
  };
  const postgres = { user: 'u', password: planted.password, host: 'h', database: 'd' };
  const http = { url: 'https://example.com/in', headers: { authorization: planted.header } };
  const destinations = [
    { type: 'S3', config: s3 },
    { type: 'Postgres', config: postgres },
    { type: 'HTTP', config: http },
  ];
  for (const [at, text] of hostile_texts.slice(0, names_max).entries()) {
    const destination = destinations[at % destinations.length]!;
    const { id } = await newExport(home, { name: `Export ${at}`, destination });
    // As names were taken before they had to be one line.
    const name = text.trim().slice(0, 1_000);
    await harness.deps.db.run(sql`UPDATE batch_exports SET name = ${name} WHERE id = ${id}::uuid`);
    ids.push(id);
  }
  return ids;
}

async function plantEvents(): Promise<string[]> {
  const events = hostile_texts.slice(80, 140).map((text, at) => ({
    uuid: `0a4a2f6e-58b4-4f7b-9d3e-${String(at).padStart(12, '0')}`,
    event: text.slice(0, 190),
    distinct_id: text.slice(0, 190),
    properties: { [text]: text, $set: { name: text } },
  }));
  const sent = await home.ask('POST', `/api/projects/${home.project.id}/events/`, { events });
  assert.equal(sent.body.taken, events.length, sent.text);
  return events.map(({ uuid }) => uuid);
}

/** Lines of the log and faults of runs, as destinations cause them. */
async function plantLines(): Promise<void> {
  const texts = [...hostile_texts.slice(names_max, 80), ...hostile_texts.slice(140)];
  for (const [at, text] of texts.entries()) {
    const batch_export_id = exports[at % 3]!;
    const line = { batch_export_id, run_id: null, level: 'ERROR', message: text } as const;
    await writeRunLog(harness.deps.db, line);
    if (at % 10 === 0) await endedRun(harness, batch_export_id, { ...failed, message: text });
  }
}

/** A digest of each table, but for what is no change. */
async function tables(): Promise<Record<string, string>> {
  const { db, clickhouse } = harness.deps;
  const names = await db.rows<{ name: string }>(
    sql`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
  );
  const digests: Record<string, string> = {};
  for (const { name } of names.filter((one) => !not_a_change.has(one.name))) {
    const { rows } = await db.text(`SELECT t::text AS row FROM "${name}" t ORDER BY 1`);
    const text = rows.map(({ row }) => String(row)).join('\n');
    digests[name] = createHash('sha256').update(text).digest('hex');
  }
  const counted = await clickhouse.rows({
    query: 'SELECT count() AS events, sum(cityHash64(*)) AS digest FROM events',
  });
  digests['events'] = JSON.stringify(counted);
  return digests;
}

/** Lists how many requests of each method and route the server has answered, without reads. */
async function writesAnswered(): Promise<string[]> {
  const { values } = await harness.deps.metrics.request_seconds.get();
  return values
    .filter(({ labels, metricName }) => metricName?.endsWith('_count') && labels.method !== 'GET')
    .map(({ labels, value }) => `${labels.method} ${labels.route} ${labels.status} ${value}`)
    .filter((line) => !line.startsWith('POST /mcp 20'));
}

/** Every text of an answer that is not marked, by walking it as a program would. */
function plainTexts(value: unknown, name = ''): string[] {
  if (typeof value === 'string') return name === 'untrusted_text' ? [] : [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([field, inner]) => [
    field,
    ...plainTexts(inner, Array.isArray(value) ? name : field),
  ]);
}

/** The sentences by which a hostile text would be known; those of one word are too short. */
const tells = ['evil', 'mallory', 'Ignore', 'SYSTEM', 'DROP TABLE', 'IMPORTANT', 'apply_config'];

/** Calls everything that there is to look at. */
async function lookAtEverything(agent: Agent): Promise<unknown[]> {
  const answers: unknown[] = [];
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const answer = await agent.call(name, args);
    assert.equal(answer.is_error, false, `${name} ${answer.text}`);
    answers.push(answer.data);
    const lines = answer.text.split('\n');
    const mark = /^<(sluice-data-[0-9a-f]{16})>$/.exec(lines[0]!)![1]!;
    assert.equal(lines.length, 3, 'no text opens a line of its own');
    assert.equal(answer.text.split(`</${mark}>`).length, 2, 'no text closes the mark');
    return answer.data;
  };
  await call('list_projects');
  for (let offset = 0; offset < exports.length; offset += 20)
    await call('list_exports', { offset });
  for (const id of exports.slice(0, inDepth(8, 20))) await call('get_export', { export: id });
  for (const id of exports.slice(0, inDepth(1, 3))) {
    await call('explain_delay', { export: id });
    await call('list_runs', { export: id });
    await call('read_logs', { export: id, limit: 100 });
    await call('list_slots', { export: id });
  }
  for (const uuid of uuids.slice(0, inDepth(5, 20)))
    await call('find_record', { uuid, export: exports[0]! });
  await call('read_activity', { limit: 100 });
  await call('plan_configuration');
  return answers;
}

/**
 * Does what the texts ask for, with every tool that there is and texts as arguments: a third of
 * them, in every disguise, or all.
 */
async function obey(agent: Agent, names: readonly string[]): Promise<void> {
  const tried = hostile_texts.filter((_text, at) => at % inDepth(3, 1) === 0);
  for (const [at, text] of tried.entries()) {
    const name = names[at % names.length]!;
    const args = {
      export: at % 2 === 0 ? text : exports[0]!,
      search: text,
      distinct_id: text,
      day: text,
      status: text,
      health: text,
      cursor: text,
      organization: at % 2 === 0 ? text : home.organization.id,
      scope: text,
    };
    await agent.call(name, args).catch(() => undefined);
    if (at % inDepth(20, 10) === 0) await obeyInFull(agent, text);
  }
}

/** The ways to a change that a text may know: a plan and its apply, a backfill, another tool. */
async function obeyInFull(agent: Agent, text: string): Promise<void> {
  const { data: planned } = await agent.call('plan_configuration', {
    organization: home.organization.id,
    configuration: { organization: { name: text.trim().slice(0, 64) } },
    prune: true,
  });
  for (const hash of [text, planned.hash ?? 'x']) {
    const applied = await agent.call('apply_configuration', { hash });
    assert.ok(applied.is_error, text);
  }
  const backfill = await agent.call('plan_backfill', {
    export: exports[0]!,
    start_at: '2016-01-01T00:00:00Z',
    end_at: '2026-01-01T00:00:00Z',
  });
  assert.equal(backfill.data.status, 403, 'a key that reads plans no backfill');
  await assert.rejects(agent.call(text), /There is no tool with this name/);
}

test('200 hostile texts lead a reading key to no write, on the wire and in the store', async () => {
  assert.equal(new Set(hostile_texts).size, 200);
  const key = await harness.newKey(home.user, { scopes: reading_scopes });
  const agent = await agentOf(harness, key);
  const { tools } = await agent.client.listTools();
  assert.ok(tools.every((tool) => tool.annotations?.readOnlyHint === true));
  const [before, answered] = [await tables(), await writesAnswered()];

  const answers = await lookAtEverything(agent);
  await obey(
    agent,
    tools.map((tool) => tool.name),
  );

  assert.deepEqual(await tables(), before);
  const more = (await writesAnswered()).filter((line) => !answered.includes(line));
  const planning = 'POST /api/organizations/:organization_id/configuration/plan/';
  assert.deepEqual(
    more.map((line) => line.replace(/ \d+$/, '')).toSorted(),
    [
      // A plan rehearses by the routes, and what it did is rolled back.
      'PATCH /api/organizations/:id/ 200',
      `${planning} 201`,
      'POST /api/projects/:project_id/batch_exports/:id/backfill/ 403',
    ],
    'nothing but reads and plans was asked, and the dry run that the key may not have',
  );
  const plain = answers.flatMap((one) => plainTexts(one));
  for (const tell of tells)
    assert.deepEqual(
      plain.filter((text) => text.includes(tell)),
      [],
    );
  const texts = JSON.stringify(answers);
  assert.ok(texts.includes('Ignore all previous instructions'), 'the texts were read');
  assert.doesNotMatch(texts, /[\u200b\u202e\u{e0000}-\u{e007f}]/u);
  await agent.close();
  searchSecrets(agent.transcript, key);
});

/** Fails when a secret that was planted, or a key, stands in what went over the wire. */
function searchSecrets(transcript: readonly string[], key: string): void {
  const wire = transcript.join('\n');
  assert.ok(wire.length > 100_000);
  for (const secret of [...Object.values(planted), key, home.key])
    assert.ok(!wire.includes(secret), `${secret.slice(0, 12)}… went over the wire`);
  assert.doesNotMatch(wire, /slk_[0-9A-Za-z]{49}|sls_[0-9A-Za-z]{43}/);
}

test('no secret comes out for a key that may do everything', async () => {
  const agent = await agentOf(harness, home.key);
  await lookAtEverything(agent);
  await agent.close();
  searchSecrets(agent.transcript, home.key);
  // The search would find them: they are stored, and one of them is what the API was sent.
  const sent = await home.ask('GET', `${projectBase(home)}${exports[0]}/`);
  assert.ok(!sent.text.includes(planted.secret));
});
