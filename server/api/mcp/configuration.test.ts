import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { agentOf } from '../../../test/factories/agents.ts';
import type { Agent } from '../../../test/factories/agents.ts';
import { newExport } from '../../../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';

const password = 'pl4nted-password';
const postgres = { user: 'u', password, host: 'h', database: 'd' };

let home: TestOrganization;
let agent: Agent;
const harness = aroundTests(() => openHarness({ clickhouse: false }));
beforeEach(async () => {
  home = await harness.newOrganization();
  agent = await agentOf(harness, home.key);
});

/** Returns the state of the objects as the agent sees it. */
async function standing(of = agent): Promise<any> {
  const { data } = await of.call('plan_configuration');
  return JSON.parse(data.configuration.untrusted_text);
}
const plan = async (configuration: unknown, more: object = {}) =>
  agent.call('plan_configuration', { configuration, ...more });
const named = (name: string) => ({ organization: { name } });
const entries = async () =>
  (await home.ask('GET', `/api/organizations/${home.organization.id}/activity/`)).body.results;

test('an agent plans from the present state, and applies by the hash what it showed', async () => {
  const { id } = await newExport(home, {
    name: 'Orders',
    destination: { type: 'Postgres', config: postgres },
  });
  const configuration = await standing();
  const [project] = Object.values<any>(configuration.projects);
  const exported = project.batch_exports.orders;
  assert.deepEqual(exported.destination.config.password, { keep: true });
  exported.name = 'All orders';
  const { data: planned } = await plan(configuration);
  const step = planned.steps.find((one: any) => one.kind === 'batch_export');
  assert.equal(step.id, id);
  assert.deepEqual(
    step.changes.map((one: any) => [one.field.untrusted_text, one.after.untrusted_text]),
    [['name', 'All orders']],
  );
  assert.deepEqual(planned.needs, []);
  const before = (await entries()).length;
  const {
    is_error,
    data: applied,
    text,
  } = await agent.call('apply_configuration', {
    hash: planned.hash,
  });
  assert.equal(is_error, false, text);
  assert.ok(applied.objects.some((one: any) => one.id === id));
  assert.ok((await entries()).length > before);
  const { data: again } = await plan(configuration);
  assert.equal(again.is_empty, true);
  const repeated = await agent.call('apply_configuration', { hash: planned.hash });
  assert.equal(repeated.data.status, 409);
  assert.ok(!agent.transcript.join('\n').includes(password));
});

test('a plan says which sections it leaves out', async () => {
  const members = { one: { email: home.user.email, level: 8 } };
  const { data } = await plan({ ...named('Renamed'), members });
  assert.deepEqual(data.sections_left_out, ['members']);
  assert.deepEqual(
    data.steps.map((one: any) => one.kind),
    ['organization'],
  );
  const { data: without } = await plan(named('Renamed'));
  assert.deepEqual(without.sections_left_out, []);
});

test('an agent requests a part of a long text, and can send it back', async () => {
  for (let number = 0; number < 60; number += 1)
    await newExport(home, { name: `Export ${number} ${'x'.repeat(600)}` });
  const { data: whole } = await agent.call('plan_configuration');
  const paths = whole.paths.map((one: any) => one.untrusted_text);
  const path = paths.find((one: string) => one.includes('.export_7_'));
  assert.ok(path !== undefined, JSON.stringify(whole).slice(0, 500));
  const { data } = await agent.call('plan_configuration', { path });
  const part = JSON.parse(data.configuration.untrusted_text);
  const [project] = Object.values<any>(part.projects);
  assert.deepEqual(Object.keys(project.batch_exports), [path.split('.').at(-1)]);
  const { data: planned } = await plan(part);
  assert.deepEqual(planned.needs, [], JSON.stringify(planned));
  assert.ok(planned.steps.every((one: any) => one.action === 'adopt'));
  const { data: nowhere } = await agent.call('plan_configuration', { path: 'projects.x' });
  assert.match(nowhere.detail.untrusted_text, /Nothing stands there/);
});

test('a plan that something has overtaken is refused, and says what moved', async () => {
  const { data: planned } = await plan(named('From code'));
  await home.ask('PATCH', `/api/organizations/${home.organization.id}/`, { name: 'By hand' });
  const { data } = await agent.call('apply_configuration', { hash: planned.hash });
  assert.equal(data.status, 409);
  assert.match(JSON.stringify(data.errors), /organization/);
  const unknown = await agent.call('apply_configuration', { hash: 'f'.repeat(64) });
  assert.equal(unknown.data.status, 404);
});

test('a secret goes neither in nor out: a person enters it behind a link', async () => {
  await newExport(home, {
    name: 'Orders',
    destination: { type: 'Postgres', config: postgres },
  });
  const configuration = await standing();
  const [key, project] = Object.entries<any>(configuration.projects)[0]!;
  for (const value of ['typed-by-an-agent', { secret: 'typed-by-an-agent' }]) {
    project.batch_exports.orders.destination.config.password = value;
    const { is_error, data } = await plan(configuration);
    assert.ok(is_error);
    assert.match(data.errors[0].detail.untrusted_text, /An agent cannot set secrets/);
    assert.match(data.errors[0].attr.untrusted_text, /orders__destination__config__password$/);
  }
  project.batch_exports.orders.destination.config.password = { keep: true };
  project.batch_exports.fresh = structuredClone(project.batch_exports.orders);
  project.batch_exports.fresh.name = 'Fresh';
  project.batch_exports.orders.destination.config.host = 'elsewhere.example.com';
  const { data } = await plan(configuration);
  const open = Object.fromEntries(
    (data.needs ?? []).map((need: any) => [need.path?.untrusted_text, need.open]),
  );
  const base = `${harness.deps.config.public_url}/projects/${home.project.id}/exports`;
  const at = (name: string) => `projects.${key}.batch_exports.${name}.destination.config.password`;
  assert.equal(open[at('fresh')], `${base}/new`, JSON.stringify(data));
  const refused = await agent.call('apply_configuration', { hash: data.hash });
  assert.ok(refused.is_error);
});

test('an agent applies what a person planned, and is shown no created secret', async () => {
  const configuration = await standing();
  const [project] = Object.values<any>(configuration.projects);
  const url = 'https://hooks.example.com/pl4nted-token';
  project.notice_targets = { hook: { type: 'webhook', url } };
  const own = await agent.call('plan_configuration', { configuration });
  assert.match(own.data.errors[0].detail.untrusted_text, /An agent cannot set secrets/);
  const path = `/api/organizations/${home.organization.id}/configuration/plan/`;
  const planned = await home.ask('POST', path, { configuration });
  assert.equal(planned.status, 201, planned.text);
  const before = agent.transcript.length;
  const { data, text } = await agent.call('apply_configuration', { hash: planned.body.hash });
  assert.equal(data.secrets_not_shown?.length, 1, text);
  assert.doesNotMatch(agent.transcript.slice(before).join('\n'), /whsec_|pl4nted-token/);
});

test('an organization that forbids writes by agents lets them plan and not apply', async () => {
  const { data: planned } = await plan(named('From an agent'));
  const path = `/api/organizations/${home.organization.id}/`;
  const forbidden = { key: home.key, body: { forbids_agent_writes: true } };
  assert.equal((await harness.request('PATCH', path, forbidden)).status, 200);
  const { data: replanned } = await plan(named('From an agent'));
  for (const { hash } of [planned, replanned]) {
    const { is_error, data } = await agent.call('apply_configuration', { hash });
    assert.ok(is_error);
    assert.ok([403, 409].includes(data.status));
  }
  const { data } = await agent.call('apply_configuration', { hash: replanned.hash });
  assert.equal(data.status, 403);
  assert.match(data.detail.untrusted_text, /does not let agents change anything/);
  const read = await home.ask('GET', path);
  assert.equal(read.body.name, 'Test');
  // Nor does what no transaction of ours changes: events, and a destination that is tested.
  const project = `/api/projects/${home.project.id}/`;
  const tried = { name: 'Tried', model: 'events', interval: 'hour' };
  for (const [below, body] of [
    ['events/', { events: [{ event: 'a', distinct_id: 'b' }] }],
    ['batch_exports/test/', { ...tried, destination: { type: 'NoOp', config: {} } }],
  ] as const) {
    const ask = (query: string) =>
      harness.request('POST', `${project}${below}${query}`, {
        key: home.key,
        headers: { 'sluice-agent': 'mcp' },
        body,
      });
    const [refused, looked] = [await ask(''), await ask('?validate_only=true')];
    assert.deepEqual([refused.status, looked.status], [403, 200], `${refused.text} ${looked.text}`);
  }
  // The same plan in the hands of a person.
  const person = await home.ask('POST', `${path}configuration/apply/`, { hash: replanned.hash });
  assert.equal(person.status, 200, person.text);
});

test('a reading key can plan and learns which scopes it lacks', async () => {
  const key = await harness.newKey(home.user, {
    scopes: ['organization:read', 'project:read', 'batch_export:read'],
  });
  const reader = await agentOf(harness, key);
  const names = await reader.toolNames();
  assert.ok(names.includes('plan_configuration'));
  assert.ok(!names.includes('apply_configuration'));
  const { data } = await reader.call('plan_configuration', { configuration: named('Mine now') });
  assert.deepEqual(
    data.needs.map((need: any) => need.code),
    ['scope'],
  );
  await reader.close();
});
