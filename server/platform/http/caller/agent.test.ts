import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  newExport,
  organizationBase,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import { eventually } from '../../../../test/eventually.ts';
import { countWaiting } from '../../../../test/watchers/waiting_statements.ts';
import { shareHome } from '../../../../test/shared_home.ts';

const { harness, home } = shareHome();

const agent = { 'sluice-agent': 'mcp' };
const organizationPath = () => `/api/organizations/${home.organization.id}/`;
const forbid = async (forbids_agent_writes: boolean) => {
  const answer = await home.ask('PATCH', organizationPath(), { forbids_agent_writes });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.forbids_agent_writes, forbids_agent_writes);
};
const entries = async () => (await home.ask('GET', `${organizationPath()}activity/`)).body.results;

test('an organization says whether agents may write, and the log keeps who said it', async () => {
  const created = await home.ask('POST', '/api/organizations/', {
    name: 'Closed to agents',
    forbids_agent_writes: true,
  });
  assert.equal(created.body.forbids_agent_writes, true);
  assert.equal(home.organization.forbids_agent_writes, false);
  await forbid(true);
  const [entry] = await entries();
  assert.deepEqual(entry.changes, [
    { field: 'forbids_agent_writes', action: 'changed', before: false, after: true },
  ]);
  await forbid(false);
});

test('a ban on agents stops every change of an agent, not people or reads', async () => {
  const { id } = await newExport(home);
  const path = `${projectBase(home)}${id}/`;
  const changes: [string, string, object?][] = [
    ['PATCH', path, { name: 'Renamed' }],
    ['POST', `${path}pause/`, {}],
    ['DELETE', path],
    [
      'POST',
      projectBase(home),
      { name: 'x', interval: 'hour', destination: { type: 'NoOp', config: {} } },
    ],
    ['POST', '/api/projects/', { name: 'Another' }],
    ['PATCH', organizationPath(), { forbids_agent_writes: false }],
    ['DELETE', organizationPath()],
  ];
  await forbid(true);
  const before = await entries();
  for (const [method, at, body] of changes) {
    const answer = await home.ask(method, at, body, agent);
    assert.equal(answer.status, 403, `${method} ${at} ${answer.text}`);
    assert.match(answer.body.detail, /does not let agents change anything/);
    const tried = await home.ask(method, `${at}?validate_only=true`, body, agent);
    assert.equal(tried.status, 403, 'a check says the same');
  }
  assert.deepEqual(await entries(), before);
  const read = await harness.request('GET', path, { key: home.key, headers: agent });
  assert.equal(read.status, 200);
  const looked = await home.ask(
    'POST',
    `${path}backfill/`,
    { start_at: '2026-01-01T00:00:00Z', end_at: '2026-01-01T01:00:00Z', dry_run: true },
    agent,
  );
  assert.notEqual(looked.status, 403, 'a dry run changes nothing');
  const person = await home.ask('PATCH', path, { name: 'By hand' });
  assert.equal(person.status, 200);
  await forbid(false);
  const allowed = await home.ask('PATCH', path, { name: 'By an agent' }, agent);
  assert.equal(allowed.status, 200);
});

const waits = (count: number) =>
  eventually(`${count} statements do not wait.`, async () => {
    return (await countWaiting(harness.deps.db)) === count;
  });

test('after the ban no write of an agent is in progress', async () => {
  const { id } = await newExport(home);
  const path = `${organizationBase(home)}${id}/`;
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: isLocked } = Promise.withResolvers<void>();
  // Somebody holds the export, so that the agent's change waits in the middle.
  const holding = harness.deps.db.transaction(async (tx) => {
    await tx.rows(sql`SELECT 1 FROM batch_exports WHERE id = ${id}::uuid FOR UPDATE`);
    isLocked();
    await held;
  });
  await locked;
  const change = home.ask('PATCH', path, { name: 'Slow' }, agent);
  await waits(1);
  const forbidding = forbid(true);
  await waits(2);
  release();
  await holding;
  assert.equal((await change).status, 200, 'it began before');
  await forbidding;
  const late = await home.ask('PATCH', path, { name: 'Late' }, agent);
  assert.equal(late.status, 403);
  await forbid(false);
});
