import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { openConfigurations } from '../../../test/factories/configurations.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { Answer } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

const faultsOf = ({ status, body }: Answer) => [
  status,
  ...body.errors.map(
    ({ attr, code }: any) => `${String(attr).replace(/^configuration__/, '')} ${code}`,
  ),
];
const project = (fields: object) => ({ projects: { web: { name: 'Web', ...fields } } });
const postgres = (config: object) => ({
  name: 'Rows',
  interval: 'hour',
  destination: { type: 'Postgres', config },
});

test('faults of form are reported all at once', async () => {
  const config = await openConfigurations(harness);
  const refused = await config.plan({
    colours: {},
    organization: { nam: 'x', name: 7 },
    projects: {
      'Not a key': { name: 'x' },
      web: {
        name: 'Web',
        timezon: 'UTC',
        batch_exports: [],
        notice_targets: { ops: { type: 'pigeon', url: { env: 'X' } } },
        write_keys: { site: 'Site' },
      },
    },
    domains: { own: {} },
  });
  assert.deepEqual(
    faultsOf(refused).toSorted(),
    [
      400,
      'colours unknown_field',
      'domains__own__domain required',
      'organization__nam unknown_field',
      'organization__name invalid_input',
      'projects__Not a key invalid_input',
      'projects__web__batch_exports invalid_input',
      'projects__web__notice_targets__ops__type invalid_choice',
      'projects__web__timezon unknown_field',
      'projects__web__write_keys__site invalid_input',
    ].toSorted(),
  );
  for (const sent of [null, [], 'text', 7])
    assert.deepEqual(faultsOf(await config.plan(sent))[0], 400);
});

test('a plan reports the refusals of all routes at once, and keeps nothing', async () => {
  const config = await openConfigurations(harness);
  const refused = await config.plan({
    projects: {
      web: {
        name: 'Web',
        batch_exports: {
          good: postgres({
            user: 'u',
            password: { secret: 'pl4nted-one' },
            host: 'h',
            database: 'd',
          }),
          bad: postgres({ user: 'u', hots: 'h', database: 'd' }),
          slip: postgres({ user: 'u', password: { evn: 'PW' }, host: 'h', database: 'd' }),
          worse: { name: 'Worse', interval: 'hour', destination: { type: 'Nowhere', config: {} } },
        },
        notice_targets: {
          ops: { type: 'email', url: { secret: 'https://a.example.com/pl4nted-two' } },
        },
      },
      zone: { name: 'Zone', timezone: 'Nowhere' },
    },
  });
  assert.deepEqual(
    faultsOf(refused).toSorted(),
    [
      400,
      'projects__web__batch_exports__bad__destination__config__host required',
      'projects__web__batch_exports__bad__destination__config__hots unknown_field',
      'projects__web__batch_exports__bad__destination__config__password required',
      'projects__web__batch_exports__slip__destination__config__password invalid_input',
      'projects__web__batch_exports__worse__destination__type invalid_choice',
      'projects__web__notice_targets__ops__address required',
      'projects__web__notice_targets__ops__url invalid_input',
      'projects__zone__timezone invalid_choice',
    ].toSorted(),
  );
  assert.match(refused.text, /Must be text\. Write a secret as \{env: NAME\}/);
  assert.doesNotMatch(refused.text, /pl4nted/);
  const found = await harness.deps.db.rows(
    sql`SELECT 1 FROM projects WHERE organization_id = ${config.home.organization.id}`,
  );
  assert.equal(found.length, 1);
});

test('faults of form do not hide faults between objects or of rules', async () => {
  const config = await openConfigurations(harness);
  await config.put({
    projects: {
      old: { name: 'Old', write_keys: { kept: { name: 'Kept' } } },
      far: { name: 'Far' },
    },
  });
  const file = (prefix: object) => ({
    name: 'Rows',
    interval: 'hour',
    destination: { type: 'File', config: prefix },
  });
  const refused = await config.plan(
    {
      colours: {},
      projects: {
        // One that stands and has a fault of form: what lies in it is tried all the same.
        old: { name: 'Old', timezon: 'UTC', batch_exports: { bad: file({ prefx: 'a' }) } },
        // So is it where a rule refuses the project itself.
        far: { name: 'Far', timezone: 'Nowhere', batch_exports: { bad: file({ prefx: 'a' }) } },
        // One that is new and has a fault: what lies in it needs it.
        made: { nam: 'Made', batch_exports: { untried: file({ prefx: 'a' }) } },
        web: {
          name: 'Web',
          batch_exports: {
            none: null,
            typo: { ...file({ prefix: 'a' }), nam: 'x' },
            bad: file({ prefx: 'a' }),
          },
          notice_targets: {
            gone: { type: 'email', address: 'a@example.com', batch_exports: ['gone'] },
            known: { type: 'email', address: 'b@example.com', batch_exports: ['typo', 'none'] },
            bad: { type: 'email' },
          },
        },
      },
    },
    { prune: true },
  );
  assert.deepEqual(
    faultsOf(refused).toSorted(),
    [
      400,
      'colours unknown_field',
      'projects__far__batch_exports__bad__destination__config__prefix required',
      'projects__far__batch_exports__bad__destination__config__prefx unknown_field',
      'projects__far__timezone invalid_choice',
      'projects__made__nam unknown_field',
      'projects__made__name required',
      'projects__old__batch_exports__bad__destination__config__prefix required',
      'projects__old__batch_exports__bad__destination__config__prefx unknown_field',
      'projects__old__timezon unknown_field',
      'projects__web__batch_exports__bad__destination__config__prefix required',
      'projects__web__batch_exports__bad__destination__config__prefx unknown_field',
      'projects__web__batch_exports__none invalid_input',
      'projects__web__batch_exports__typo__nam unknown_field',
      'projects__web__notice_targets__bad__address required',
      'projects__web__notice_targets__gone__batch_exports__0 invalid_input',
    ].toSorted(),
  );
});

test('references that lead nowhere, keys in a circle and two claims on one object', async () => {
  const config = await openConfigurations(harness);
  const target = (batch_exports: string[]) => ({
    notice_targets: { ops: { type: 'email', address: 'a@example.com', batch_exports } },
  });
  assert.deepEqual(faultsOf(await config.plan(project(target(['gone', 'lost'])))), [
    400,
    'projects__web__notice_targets__ops__batch_exports__0 invalid_input',
    'projects__web__notice_targets__ops__batch_exports__1 invalid_input',
  ]);
  const circle = {
    write_keys: { a: { name: 'A', was: 'b' }, b: { name: 'B', was: 'a' } },
  };
  assert.deepEqual(faultsOf(await config.plan(project(circle))), [
    400,
    'projects__web__write_keys__a__was invalid_input',
    'projects__web__write_keys__b__was invalid_input',
  ]);
  await config.put(project({ write_keys: { a: { name: 'A' } } }));
  const twice = { write_keys: { b: { name: 'B', was: 'a' }, c: { name: 'C', was: 'a' } } };
  assert.deepEqual(faultsOf(await config.plan(project(twice))), [
    400,
    'projects__web__write_keys__c__was unique',
  ]);
});

test('a fixed field is reported; a mark without a secret is refused', async () => {
  const config = await openConfigurations(harness);
  const target = { type: 'email', address: 'a@example.com' };
  await config.put(project({ notice_targets: { ops: target } }));
  const other = { type: 'webhook', url: { secret: 'https://hooks.example.com/pl4nted-path' } };
  assert.deepEqual(faultsOf(await config.plan(project({ notice_targets: { ops: other } }))), [
    400,
    'projects__web__notice_targets__ops__type invalid_input',
  ]);
  const marked = {
    notice_targets: { ops: { ...target, address: { secret: 'marked@example.com' } } },
  };
  assert.deepEqual(faultsOf(await config.plan(project(marked))), [
    400,
    'projects__web__notice_targets__ops__address invalid_input',
  ]);
});

test('a secret under any name reaches nothing but its own object', async () => {
  const config = await openConfigurations(harness);
  const names = ['__proto__.planted', 'constructor.prototype.planted'];
  const values = Object.fromEntries(names.map((name) => [name, { secret: 'pl4nted' }]));
  const plugin_configs = { geo: { plugin: 2_147_483_647, config: values } };
  const refused = await config.plan(project({ plugin_configs }));
  const { planted } = {} as { planted?: unknown };
  delete (Object.prototype as { planted?: unknown }).planted;
  assert.equal(planted, undefined);
  assert.equal(refused.status, 400);
});

test('a body of anchors written out is bounded before anything is made of it', async () => {
  const config = await openConfigurations(harness);
  const url = `/api/organizations/${config.home.organization.id}/configuration/plan/`;
  const many = `{"configuration":{"projects":[${'[],'.repeat(120_000)}[]]}}`;
  const refused = await config.home.ask('POST', url, many, { 'content-type': 'application/json' });
  assert.deepEqual([refused.status, refused.body.code], [400, 'parse_error']);
  const large = await config.home.ask(
    'POST',
    url,
    `{"configuration":"${'x'.repeat(10_000_000)}"}`,
    { 'content-type': 'application/json' },
  );
  assert.equal(large.status, 413);
});
