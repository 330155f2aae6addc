import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openConfigurations } from '../../../test/factories/configurations.ts';
import type { Configurations } from '../../../test/factories/configurations.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { Answer } from '../../../test/harness.ts';

const harness = shareHarness();

const rows = {
  name: 'Rows',
  interval: 'hour',
  destination: {
    type: 'Postgres',
    config: {
      user: 'u',
      password: { secret: 'pl4nted-first' },
      host: 'h.example.com',
      database: 'd',
    },
  },
};
const web = { name: 'Web', batch_exports: { rows } };
const stepsOf = ({ body }: Answer) =>
  body.steps.map(({ action, path, changes }: any) => [
    action,
    path,
    Object.fromEntries(changes.map(({ field, before, after }: any) => [field, [before, after]])),
  ]);
const path = 'projects.web.batch_exports.rows';

async function applied(): Promise<Configurations & { export_url: string }> {
  const config = await openConfigurations(harness);
  const { body } = await config.put(
    { projects: { web } },
    { source: { name: 'repo', commit: 'a1' } },
  );
  const id = body.objects.find((one: any) => one.path === path).id as string;
  const export_url = `/api/organizations/${config.home.organization.id}/batch_exports/${id}/`;
  return { ...config, export_url };
}

const withRows = (changes: object) => ({
  projects: { web: { ...web, batch_exports: { rows: { ...rows, ...changes } } } },
});
const withConfig = (changes: object) =>
  withRows({
    destination: { type: 'Postgres', config: { ...rows.destination.config, ...changes } },
  });

test('another name, key, query or secret is shown as exactly that', async () => {
  const config = await applied();
  const own = await config.home.ask('GET', config.export_url);
  assert.deepEqual(
    { ...own.body.managed_by, applied_at: undefined },
    { key: 'rows', source: 'repo', commit: 'a1', applied_at: undefined },
  );
  const source = { source: { name: 'repo', commit: 'b2' } };
  const named = await config.plan(withRows({ name: 'All rows' }), source);
  assert.deepEqual(stepsOf(named), [['change', path, { name: ['Rows', 'All rows'] }]]);
  assert.equal(named.body.steps[0].cost, null);

  const moved = await config.plan(
    { projects: { web: { ...web, batch_exports: { lines: { ...rows, was: 'rows' } } } } },
    source,
  );
  assert.deepEqual(stepsOf(moved), [['move', 'projects.web.batch_exports.lines', {}]]);
  assert.equal(moved.body.steps[0].moved_from, path);

  const asked = await config.plan(
    withRows({ custom_query: 'SELECT uuid AS uuid, event AS event FROM events' }),
    source,
  );
  assert.deepEqual(stepsOf(asked), [
    ['change', path, { custom_query: [null, 'SELECT uuid AS uuid, event AS event FROM events'] }],
  ]);
  assert.deepEqual(
    [asked.body.steps[0].cost.starts_anew, asked.body.steps[0].cost.delivered_records],
    [true, 0],
  );

  const rotated = await config.plan(withConfig({ password: { secret: 'pl4nted-second' } }), source);
  assert.deepEqual(stepsOf(rotated), [
    ['change', path, { 'destination.config.password': ['********', '********'] }],
  ]);
  assert.doesNotMatch(rotated.text, /pl4nted/);
  assert.equal((await config.apply(rotated.body.hash)).status, 200);
  const after_all = await config.home.ask('GET', config.export_url);
  assert.deepEqual([after_all.status, after_all.body.managed_by.commit], [200, 'b2']);
  const entries = await config.home.ask(
    'GET',
    `/api/organizations/${config.home.organization.id}/activity/?limit=2`,
  );
  const [whole, one] = entries.body.results;
  assert.deepEqual(
    [whole.scope, whole.activity, whole.item_name],
    ['configuration', 'applied', 'repo'],
  );
  assert.deepEqual([one.scope, one.activity], ['batch_export', 'updated']);
  assert.deepEqual(one.changes.at(-1).after, {
    key: 'rows',
    source: 'repo',
    commit: 'b2',
    plan: rotated.body.hash,
  });
  assert.equal(one.changes.length, 2);
});

test('a moved key keeps the id; a key that stays in the file as `was` does no harm', async () => {
  const config = await applied();
  const configuration = {
    projects: { web: { ...web, batch_exports: { lines: { ...rows, was: 'rows' } } } },
  };
  const source = { source: { name: 'repo' } };
  await config.put(configuration, source);
  const own = await config.home.ask('GET', config.export_url);
  assert.equal(own.body.managed_by.key, 'lines');
  const again = await config.plan(configuration, source);
  assert.deepEqual([again.body.is_empty, again.body.notes], [true, []]);
  // One that moves nothing, as neither key stands, would be a new object by mistake.
  const mistaken = { ...rows, name: 'New', was: 'row' };
  const files = { projects: { web: { ...web, batch_exports: { others: mistaken } } } };
  const plan = await config.plan(files, source);
  assert.deepEqual(
    plan.body.notes.map(({ code, path }: any) => [code, path]),
    [['was_not_found', 'projects.web.batch_exports.others.was']],
  );
  assert.match(plan.body.notes[0].detail, /the key row, so a new object is created/);
});

test('a secret in plain text is noted, one that is a reference is not', async () => {
  const config = await applied();
  const hook = { type: 'webhook', url: 'https://hooks.example.com/pl4nted', enabled: true };
  const source = { source: { name: 'repo' } };
  const planOf = (url: unknown) => {
    const targets = { notice_targets: { hook: { ...hook, url } } };
    return config.plan({ projects: { web: { ...web, ...targets } } }, source);
  };
  const plan = await planOf(hook.url);
  assert.deepEqual(
    plan.body.notes.map(({ code, path }: any) => [code, path]),
    [['plain_secret', 'projects.web.notice_targets.hook.url']],
  );
  assert.equal(plan.text.includes('pl4nted'), false);
  assert.deepEqual((await planOf({ secret: hook.url })).body.notes, []);
});

test('a change by hand is allowed, and told with who made it; agreeing files end it', async () => {
  const config = await applied();
  const other = await harness.newMember(config.home.organization.id, 8);
  const changed = await other.ask('PATCH', config.export_url, { name: 'By hand', paused: true });
  assert.equal(changed.status, 200);
  const source = { source: { name: 'repo' } };
  const plan = await config.plan({ projects: { web } }, source);
  assert.deepEqual(stepsOf(plan), [['change', path, { name: ['By hand', 'Rows'] }]]);
  const [drift] = plan.body.drift;
  assert.deepEqual(
    [plan.body.drift.length, drift.path, drift.by.user, drift.changes],
    [
      1,
      path,
      other.user.email,
      [{ field: 'name', action: 'changed', before: 'Rows', after: 'By hand' }],
    ],
  );
  const agreed = await config.plan(withRows({ name: 'By hand' }), source);
  assert.deepEqual([agreed.body.is_empty, agreed.body.drift], [true, []]);
  const gone = await other.ask('DELETE', config.export_url);
  assert.equal(gone.status, 204);
  const anew = await config.plan({ projects: { web } }, source);
  assert.deepEqual([anew.body.steps[0].action, anew.body.drift[0].is_deleted], ['create', true]);
  assert.equal(anew.body.drift[0].by.user, other.user.email);
});

test('a secret that was changed by hand is drift, without its value', async () => {
  const config = await applied();
  await config.home.ask('PATCH', config.export_url, {
    destination: { config: { password: 'pl4nted-by-hand' } },
  });
  const plan = await config.plan({ projects: { web } }, { source: { name: 'repo' } });
  const masked = {
    field: 'destination.config.password',
    action: 'changed',
    before: '********',
    after: '********',
  };
  assert.deepEqual(plan.body.steps[0].changes, [masked]);
  assert.deepEqual(plan.body.drift[0].changes, [masked]);
});

test('a plan deletes nothing without a prune, or of other sources', async () => {
  const config = await applied();
  const source = { source: { name: 'repo' } };
  const empty = { projects: { web: { name: 'Web', batch_exports: null } } };
  const kept = await config.plan(empty, source);
  assert.deepEqual(
    [kept.body.is_empty, kept.body.left.map((one: any) => one.path)],
    [true, [path]],
  );
  const absent = await config.plan(
    { projects: { web: { name: 'Web' } } },
    { ...source, prune: true },
  );
  assert.deepEqual([absent.body.is_empty, absent.body.left], [true, []]);
  const foreign = await config.plan(empty, { source: { name: 'other' }, prune: true });
  assert.deepEqual(stepsOf(foreign), [
    ['adopt', 'projects.web', { 'managed_by.source': ['repo', 'other'] }],
  ]);
  const pruned = await config.plan(empty, { ...source, prune: true });
  assert.deepEqual(stepsOf(pruned), [['delete', path, {}]]);
  assert.equal(pruned.body.steps[0].cost.ledger_ends, true);
  assert.equal((await config.apply(pruned.body.hash)).status, 200);
  const gone = await config.home.ask('GET', config.export_url);
  assert.equal(gone.status, 404);
  assert.equal((await config.plan(empty, { ...source, prune: true })).body.is_empty, true);
});

test('a key of the config that the files no longer name goes back to its default', async () => {
  const config = await applied();
  const source = { source: { name: 'repo' } };
  await config.put(withConfig({ table_name: 'lines' }), source);
  const plan = await config.plan({ projects: { web } }, source);
  assert.deepEqual(stepsOf(plan), [
    ['change', path, { 'destination.config.table_name': ['lines', 'events'] }],
  ]);
  assert.equal(plan.body.steps[0].cost.starts_anew, true);
});

test('a stored secret is needed again when its place changes, and nothing is done', async () => {
  const config = await applied();
  const moved = withConfig({ host: 'other.example.com', password: { keep: true } });
  const plan = await config.plan(moved);
  assert.equal(plan.status, 201, plan.text);
  assert.deepEqual(
    plan.body.needs.map(({ code, path: where }: any) => [code, where]),
    [['secret', `${path}.destination.config.password`]],
  );
  assert.equal(plan.body.is_empty, false);
  const refused = await config.apply(plan.body.hash);
  assert.deepEqual(
    [refused.status, refused.body.attr],
    [409, `configuration__${path.replaceAll('.', '__')}__destination__config__password`],
  );
});
