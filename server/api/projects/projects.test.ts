import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { refusalOf } from '../../../test/refusal.ts';
import { shareHarness } from '../../../test/harness.ts';
import { isTimezone } from '../../platform/timezone.ts';
import { addMember } from '../../../test/factories/people/members.ts';

const harness = shareHarness({ clickhouse: false });

const list = '/api/projects/';
const create = (key: string, body: unknown) => harness.request('POST', list, { key, body });

test('POST creates a project with a token, by default in the oldest organization', async () => {
  const { key, organization } = await harness.newOrganization();
  const { status, body } = await create(key, { name: ' Shop ', timezone: 'Europe/Berlin' });
  assert.equal(status, 201);
  assert.deepEqual(Object.keys(body), [
    'id',
    'uuid',
    'organization',
    'name',
    'api_token',
    'timezone',
    'robot_events',
    'internal_events',
    'internal_addresses',
    'unplanned_events',
    'fill_device_properties',
    'retention',
    'retention_days',
    'created_at',
    'updated_at',
    'managed_by',
  ]);
  assert.deepEqual(
    [body.organization, body.name, body.timezone],
    [organization.id, 'Shop', 'Europe/Berlin'],
  );
  assert.match(body.api_token, /^slp_[0-9A-Za-z]{43}$/);
  const owner = await harness.request('GET', `/api/organizations/${organization.id}/`, { key });
  assert.deepEqual(
    owner.body.teams.map((team: { id: number }) => team.id),
    [organization.teams[0]!['id'], body.id],
  );
});

test('a new project is in the named organization, else the oldest, else 403', async () => {
  const one = await harness.newOrganization({ level: 1 });
  assert.equal((await create(one.key, { name: 'x' })).status, 403);
  assert.equal(
    (await create(one.key, { name: 'x', organization: one.organization.id })).status,
    403,
  );
  const two = await harness.newOrganization();
  await addMember(harness.deps, two.organization.id, one.user, 8);
  assert.equal((await create(one.key, { name: 'x' })).body.organization, two.organization.id);
  const stranger = await harness.newOrganization();
  const plain = async (organization: unknown) => {
    const { status, body } = await create(one.key, { name: 'x', organization });
    return [status, body.attr, body.code, body.detail];
  };
  assert.deepEqual(
    await plain(stranger.organization.id),
    await plain('01890000-0000-7000-8000-000000000000'),
  );
  for (const wrong of ['x', 5, null, '']) assert.equal((await plain(wrong))[0], 400);
  await harness.deps.db.run(sql`DELETE FROM members WHERE user_id = ${one.user.id}`);
  assert.deepEqual((await plain(undefined)).slice(0, 2), [400, 'organization']);
});

test('wrong bodies name the field', async () => {
  const { key, project } = await harness.newOrganization();
  const cases: [unknown, string, string][] = [
    [{ name: '' }, 'name', 'blank'],
    [{ name: 'x'.repeat(201) }, 'name', 'max_length'],
    [{ name: 1 }, 'name', 'invalid_input'],
    [{ name: 'x', timezone: null }, 'timezone', 'null'],
    [{ name: 'x', timezone: 'Mars/Olympus' }, 'timezone', 'invalid_choice'],
    [{ name: 'x', timezone: '+01:00' }, 'timezone', 'invalid_choice'],
    [{ name: 'x', timezone: '' }, 'timezone', 'blank'],
    [{ name: 'x', timezone: 7 }, 'timezone', 'invalid_input'],
  ];
  for (const [body, attr, code] of cases) {
    for (const [method, path] of [
      ['POST', list],
      ['PATCH', `${list}${project.id}/`],
      ['PUT', `${list}${project.id}/`],
    ] as const) {
      const answer = await harness.request(method, path, { key, body });
      assert.deepEqual(refusalOf(answer), [400, attr, code], `${method} ${JSON.stringify(body)}`);
    }
  }
  assert.equal((await create(key, {})).body.code, 'required');
  assert.equal(
    (await harness.request('PUT', `${list}${project.id}/`, { key, body: {} })).body.code,
    'required',
  );
});

test('zone names: those of the database and their aliases, no offsets or abbreviations', () => {
  for (const zone of [
    'UTC',
    'Europe/Berlin',
    'Asia/Kolkata',
    'Asia/Calcutta',
    'America/Argentina/Buenos_Aires',
    'Etc/GMT+5',
  ])
    assert.ok(isTimezone(zone), zone);
  for (const zone of [
    '',
    'utc',
    'EST',
    '+01:00',
    'Europe',
    'europe/berlin',
    'Mars/Olympus',
    "UTC'; --",
    'Europe/Berlin ',
  ])
    assert.ok(!isTimezone(zone), zone);
});

test('the list covers all organizations of the caller, oldest first', async () => {
  const { key, project } = await harness.newOrganization();
  await harness.newOrganization();
  const second = await create(key, { name: 'Second' });
  const elsewhere = await harness.request('POST', '/api/organizations/', {
    key,
    body: { name: 'Elsewhere' },
  });
  const { body } = await harness.request('GET', list, { key });
  assert.deepEqual(
    body.results.map((row: { id: number }) => row.id),
    [project.id, second.body.id, elsewhere.body.teams[0].id],
  );
  assert.equal((await harness.request('GET', `${list}@current/`, { key })).body.id, project.id);
});

test('a change is seen, also in the organization, which a project does not change', async () => {
  const { key, project, organization } = await harness.newOrganization();
  const other = await harness.request('POST', '/api/organizations/', {
    key,
    body: { name: 'Other' },
  });
  const settable = { name: 'New', timezone: 'Asia/Tokyo' };
  const fixed = { organization: other.body.id, api_token: 'x', id: 1 };
  const refused = await harness.request('PATCH', `${list}${project.id}/`, {
    key,
    body: { ...settable, ...fixed },
  });
  assert.deepEqual(
    refused.body.errors.map(({ attr, code }: { attr: string; code: string }) => [attr, code]),
    Object.keys(fixed).map((attr) => [attr, 'read_only']),
  );
  const answer = await harness.request('PATCH', `${list}${project.id}/`, { key, body: settable });
  assert.deepEqual(
    [
      answer.body.name,
      answer.body.timezone,
      answer.body.organization,
      answer.body.api_token,
      answer.body.id,
    ],
    ['New', 'Asia/Tokyo', organization.id, project.api_token, project.id],
  );
  assert.deepEqual(
    (await harness.request('PATCH', `${list}${project.id}/`, { key, body: {} })).body,
    answer.body,
  );
  const put = await harness.request('PUT', `${list}${project.id}/`, { key, body: { name: 'Put' } });
  assert.deepEqual([put.body.name, put.body.timezone], ['Put', 'Asia/Tokyo']);
});

test('ids that are no project ids are 404, never 500', async () => {
  const { key } = await harness.newOrganization();
  for (const id of [
    '0',
    '-1',
    '1.5',
    'x',
    '01',
    '1e3',
    '2147483647',
    '2147483648',
    '99999999999999999999',
    '%20',
    '@me',
    'null',
    "1'",
    '1 OR 1=1',
    '١',
  ]) {
    for (const method of ['GET', 'PATCH', 'PUT', 'DELETE']) {
      const answer = await harness.request(method, `${list}${encodeURIComponent(id)}/`, {
        key,
        body: { name: 'x' },
      });
      assert.equal(answer.status, 404, `${method} ${id}`);
    }
  }
});

test('the last project may be deleted too: its exports go, the organization stays', async () => {
  const { key, project, organization } = await harness.newOrganization();
  const [exported] = await harness.deps.db.rows<{ id: string }>(sql`
    INSERT INTO batch_exports (id, team_id, name, model, destination_type, "interval", timezone,
      planned_until)
    VALUES (gen_random_uuid(), ${project.id}, 'x', 'events', 'NoOp', 'hour', 'UTC', now())
      RETURNING id`);
  const [run] = await harness.deps.db.rows<{ id: string }>(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id,
      data_interval_start, data_interval_end, selection)
    VALUES (gen_random_uuid(), ${exported!.id}, ${project.id}, 1, gen_random_uuid(), now(), now(),
      '[]') RETURNING id`);
  assert.equal((await harness.request('DELETE', `${list}${project.id}/`, { key })).status, 204);
  assert.equal(
    await harness.deps.db.row(sql`SELECT 1 FROM batch_export_runs WHERE id = ${run!.id}`),
    undefined,
  );
  assert.equal((await harness.request('DELETE', `${list}${project.id}/`, { key })).status, 404);
  assert.deepEqual(
    (await harness.request('GET', `/api/organizations/${organization.id}/`, { key })).body.teams,
    [],
  );
  assert.equal((await harness.request('GET', `${list}@current/`, { key })).status, 404);
  assert.equal((await create(key, { name: 'New' })).status, 201);
});
