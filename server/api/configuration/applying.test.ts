import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { eventually } from '../../../test/eventually.ts';
import { openConfigurations } from '../../../test/factories/configurations.ts';
import { openHarness } from '../../../test/harness.ts';
import { lockOutWriters } from '../../platform/http/confirm_access.ts';

let now_ms = Date.parse('2026-05-01T12:00:00Z');
const harness = aroundTests(() =>
  openHarness({ clickhouse: false, deps: { clock: { now: () => now_ms } } }),
);

const named = (name: string) => ({ projects: { web: { name } } });

const one_export = {
  projects: {
    web: {
      name: 'Web',
      batch_exports: {
        daily: {
          name: 'Daily',
          interval: 'day',
          destination: { type: 'File', config: { prefix: 'd' } },
        },
      },
    },
  },
};

test('the second of two applied plans is told what moved and by whom', async () => {
  const config = await openConfigurations(harness);
  await config.put(named('Web'));
  const [one, other] = [await config.plan(named('One')), await config.plan(named('Other'))];
  const both = await Promise.all([config.apply(one.body.hash), config.apply(other.body.hash)]);
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 409]);
  const refused = both.find(({ status }) => status === 409)!.body;
  assert.deepEqual(
    refused.errors.map(({ attr, code }: any) => [attr, code]),
    [['configuration__projects__web', 'conflict']],
  );
  assert.match(refused.detail, new RegExp(`projects.web .* by ${config.home.user.email} at `));
});

test('an object outside of the plan may change before it is applied', async () => {
  const config = await openConfigurations(harness);
  await config.put(named('Web'));
  const plan = await config.plan(named('One'));
  const project = `/api/projects/${config.home.project.id}/`;
  const body = { name: 'Elsewhere' };
  await config.home.ask('PATCH', project, body);
  assert.equal((await config.apply(plan.body.hash)).status, 200);
});

test('a plan is applied once, within an hour, in its own organization', async () => {
  const config = await openConfigurations(harness);
  const stranger = await openConfigurations(harness);
  const { hash } = (await config.plan(named('Web'))).body;
  assert.equal((await stranger.apply(hash)).status, 404);
  assert.equal((await config.apply('unknown')).status, 404);
  assert.equal((await config.apply(hash)).status, 200);
  const again = await config.apply(hash);
  assert.deepEqual([again.status, /was already applied at/.test(again.body.detail)], [409, true]);
  const late = (await config.plan(named('Late'))).body.hash;
  now_ms += 3_600_000;
  const refused = await config.apply(late);
  assert.deepEqual([refused.status, /plan expired at/.test(refused.body.detail)], [409, true]);
});

test('a repeated plan has the same hash, and the same answer', async () => {
  const config = await openConfigurations(harness);
  const [one, other] = [await config.plan(named('Web')), await config.plan(named('Web'))];
  assert.equal(one.body.hash, other.body.hash);
  assert.notEqual((await config.plan(named('Else'))).body.hash, one.body.hash);
  // Two people may ask for the same at once.
  const at_once = await Promise.all([1, 2, 3, 4].map(() => config.plan(named('At once'))));
  assert.deepEqual(
    at_once.map(({ status }) => status),
    [201, 201, 201, 201],
  );
  const url = `/api/organizations/${config.home.organization.id}/configuration/plan/`;
  const read = await config.home.ask('GET', `${url}${one.body.hash}/`);
  assert.deepEqual(read.body, other.body);
});

test('plans of an organization take turns, and too many of them are refused at once', async () => {
  const config = await openConfigurations(harness);
  const answered: number[] = [];
  const plan = () =>
    config.plan({ organization: { name: 'Held' } }).then(({ status }) => answered.push(status));
  let all: Promise<unknown>[] = [];
  await harness.deps.db.transaction(async (tx) => {
    await tx.row(sql`SELECT 1 FROM organizations
      WHERE id = ${config.home.organization.id}::uuid FOR UPDATE`);
    all = Array.from({ length: 12 }, plan);
    await eventually('All plans are under way.', () => answered.length === 2);
  });
  await Promise.all(all);
  assert.deepEqual(answered, [429, 429, ...Array.from({ length: 10 }, () => 201)]);
});

test('changes that wait for a long one leave connections to other organizations', async () => {
  const [held, other] = [await openConfigurations(harness), await openConfigurations(harness)];
  const rename = ({ home }: typeof held, name: string) =>
    home.ask('PATCH', `/api/organizations/${home.organization.id}/`, { name });
  let waiting: Promise<{ status: number }>[] = [];
  await harness.deps.db.transaction(async (tx) => {
    // As an apply does.
    await lockOutWriters(tx, held.home.organization.id);
    waiting = Array.from({ length: 24 }, (_, number) => rename(held, `Held ${number}`));
    assert.equal((await rename(other, 'Free')).status, 200);
  });
  const statuses = (await Promise.all(waiting)).map(({ status }) => status);
  assert.deepEqual(new Set(statuses), new Set([200]));
});

test('validate_only plans and applies without keeping anything', async () => {
  const config = await openConfigurations(harness);
  const { hash } = (await config.plan(named('Web'))).body;
  const base = `/api/organizations/${config.home.organization.id}/configuration/`;
  const dry = await config.home.ask('POST', `${base}apply/?validate_only=true`, { hash });
  assert.deepEqual([dry.status, dry.body.summary.create], [200, 1]);
  const found = await harness.deps.db.rows(
    sql`SELECT 1 FROM projects WHERE organization_id = ${config.home.organization.id}
      AND name = 'Web'`,
  );
  assert.deepEqual(found, []);
  assert.equal((await config.apply(hash)).status, 200);
});

test('a missing secret is a need, and a plan with a need cannot be applied', async () => {
  const config = await openConfigurations(harness);
  const target = (url: object) => ({
    projects: { web: { name: 'Web', notice_targets: { ops: { type: 'webhook', url } } } },
  });
  const asked = await config.plan(target({ env: 'OPS_URL' }));
  assert.equal(asked.status, 201, asked.text);
  assert.deepEqual(
    asked.body.needs.map(({ code, path, reference }: any) => [code, path, reference]),
    [['secret', 'projects.web.notice_targets.ops.url', 'env OPS_URL']],
  );
  assert.equal(asked.body.summary.create, 2);
  const refused = await config.apply(asked.body.hash);
  assert.deepEqual(
    [refused.status, refused.body.attr],
    [409, 'configuration__projects__web__notice_targets__ops__url'],
  );
  const given = await config.put(target({ secret: 'https://hooks.example.com/pl4nted-path' }));
  assert.deepEqual(
    given.body.shown_once.map(({ path }: any) => path),
    ['projects.web.notice_targets.ops.secret'],
  );
  const kept = await config.plan(target({ keep: true }));
  assert.deepEqual([kept.body.is_empty, kept.body.needs], [true, []]);
});

test('a key plans with scopes to read and applies with those that write', async () => {
  const config = await openConfigurations(harness);
  const configuration = {
    projects: { web: { name: 'Web', write_keys: { site: { name: 'Site' } } } },
  };
  const withScopes = async (...scopes: string[]) => ({
    ...config.home,
    key: await harness.newKey(config.home.user, { scopes }),
  });
  const blind = await openConfigurations(harness, await withScopes('organization:read'));
  const refused = await blind.plan(configuration);
  assert.deepEqual([refused.status, /project:read/.test(refused.body.detail)], [403, true]);
  assert.deepEqual(Object.keys((await blind.pull()).body.configuration), ['organization']);
  const reader = await openConfigurations(
    harness,
    await withScopes('organization:read', 'project:read'),
  );
  const plan = await reader.plan(configuration);
  assert.deepEqual(
    [plan.body.summary.create, plan.body.needs.map(({ code }: any) => code)],
    [2, ['scope']],
  );
  assert.equal((await reader.apply(plan.body.hash)).status, 403);
  const kept = `/api/organizations/${config.home.organization.id}/configuration/plan/`;
  const look = async (...scopes: string[]) =>
    harness.request('GET', `${kept}${plan.body.hash}/`, { key: (await withScopes(...scopes)).key });
  assert.deepEqual((await look('organization:read', 'project:read')).body, plan.body);
  const hidden = await look('organization:read');
  assert.deepEqual([hidden.status, hidden.body.detail], [403, refused.body.detail]);
  const half = await openConfigurations(
    harness,
    await withScopes('organization:write', 'project:read'),
  );
  const stopped = await half.apply(plan.body.hash);
  assert.deepEqual(
    [stopped.status, /lacks the scope project:write/.test(stopped.text)],
    [400, true],
    stopped.text,
  );
  const writer = await openConfigurations(
    harness,
    await withScopes('organization:write', 'project:write'),
  );
  assert.equal((await writer.apply(plan.body.hash)).status, 200);
});

test('a member below the level of a route learns it from the plan, and is refused', async () => {
  const config = await openConfigurations(harness);
  const member = await harness.newMember(config.home.organization.id, 1);
  const low = await openConfigurations(harness, { ...config.home, ...member });
  const plan = await low.plan({ organization: { name: 'Mine' } });
  assert.deepEqual(
    plan.body.needs.map(({ code }: any) => code),
    ['level'],
  );
  const refused = await low.apply(plan.body.hash);
  assert.deepEqual([refused.status, /level 8/.test(refused.text)], [400, true]);
});

test('a session that ends in any phase of an apply is a 503 that keeps nothing', async () => {
  const config = await openConfigurations(harness);
  const { db } = harness.deps;
  await db.text(`CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$`);
  const first = await config.plan(one_export);
  assert.equal(first.status, 201, first.text);
  const { hash } = first.body;
  const phases = ['projects', 'batch_exports', 'activity', 'configuration_objects'];
  for (const table of [...phases, 'configuration_plans']) {
    await db.text(`CREATE TRIGGER ends AFTER INSERT OR UPDATE ON ${table}
      FOR EACH ROW EXECUTE FUNCTION end_session()`);
    assert.deepEqual([table, (await config.apply(hash)).status], [table, 503]);
    await db.text(`DROP TRIGGER ends ON ${table}`);
  }
  const again = await config.plan(one_export);
  assert.deepEqual([again.body.hash, again.body.summary.create], [hash, 2]);
  assert.equal((await config.apply(hash)).status, 200);
});
