import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { shareHarness } from '../../../test/harness.ts';
import { isLater } from '../../../test/watchers/instants.ts';
import { sweepDeleted } from '../../engine/exports/runs/sweep_history.ts';
import { slugBeside, slugOf } from './slug.ts';
import { addMember } from '../../../test/factories/people/members.ts';

const harness = shareHarness({ clickhouse: false });

const list = '/api/organizations/';
const create = (key: string, body: unknown) => harness.request('POST', list, { key, body });

test('POST creates the organization, its first project and the caller as its owner', async () => {
  const { key, user } = await harness.newOrganization();
  await harness.giveSecondFactor(user);
  const { status, body } = await create(key, { name: ' Ünïcode & Söhne ', enforce_2fa: true });
  assert.equal(status, 201);
  assert.match(body.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  assert.equal(body.name, 'Ünïcode & Söhne');
  assert.equal(body.slug, 'unicode-sohne');
  assert.equal(body.membership_level, 15);
  assert.equal(body.plugins_access_level, 6);
  assert.equal(body.member_count, '1');
  assert.equal(body.metadata, '{}');
  assert.deepEqual(
    [body.customer_id, body.enforce_2fa, body.is_member_join_email_enabled],
    [null, true, true],
  );
  assert.equal(body.teams.length, 1);
  assert.deepEqual(Object.keys(body.teams[0]), [
    'id',
    'uuid',
    'organization',
    'name',
    'api_token',
    'timezone',
    'created_at',
  ]);
  assert.deepEqual(
    [body.teams[0].name, body.teams[0].organization, body.teams[0].timezone],
    ['Default project', body.id, 'UTC'],
  );
  assert.match(body.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/);
  const project = await harness.request('GET', `/api/projects/${body.teams[0].id}/`, { key });
  assert.equal(project.body.created_at, body.teams[0].created_at);
  assert.deepEqual((await harness.request('GET', `${list}${body.id}/`, { key })).body, body);
});

test('wrong bodies name every field', async () => {
  const { key } = await harness.newOrganization();
  const cases: [unknown, [string | null, string][]][] = [
    [{}, [['name', 'required']]],
    [undefined, [['name', 'required']]],
    [{ name: null }, [['name', 'null']]],
    [{ name: '  ' }, [['name', 'blank']]],
    [{ name: 'x'.repeat(65) }, [['name', 'max_length']]],
    [{ name: 5 }, [['name', 'invalid_input']]],
    [{ name: ['x'] }, [['name', 'invalid_input']]],
    [
      { name: '', enforce_2fa: 'yes', is_member_join_email_enabled: null },
      [
        ['name', 'blank'],
        ['is_member_join_email_enabled', 'null'],
        ['enforce_2fa', 'invalid_input'],
      ],
    ],
    [[{ name: 'x' }], [[null, 'invalid_input']]],
  ];
  for (const [body, wanted] of cases) {
    const answer = await create(key, body);
    assert.equal(answer.status, 400);
    assert.deepEqual(
      answer.body.errors.map((entry: { attr: string; code: string }) => [entry.attr, entry.code]),
      wanted,
    );
  }
  assert.equal((await create(key, { name: `  ${'x'.repeat(64)}  ` })).status, 201);
});

test('slugs are unique also when twenty of one name race, and renaming keeps them', async () => {
  const { key } = await harness.newOrganization();
  const created = await Promise.all(
    Array.from({ length: 20 }, () => create(key, { name: 'Race' })),
  );
  assert.deepEqual(new Set(created.map((answer) => answer.status)), new Set([201]));
  const slugs = created.map((answer) => answer.body.slug);
  assert.equal(new Set(slugs).size, 20);
  for (const slug of slugs) assert.match(slug, /^race(-[a-z]{4})?$/);
  const renamed = await harness.request('PATCH', `${list}${created[0]!.body.id}/`, {
    key,
    body: { name: 'Other' },
  });
  assert.equal(renamed.body.slug, slugs[0]);
});

test('a slug is lower-case ASCII of at most 48 characters and never empty', () => {
  for (const [name, slug] of [
    ['Über uns!', 'uber-uns'],
    ['  a -- b  ', 'a-b'],
    ['漢字', 'organization'],
    ['---', 'organization'],
    ['x'.repeat(64), 'x'.repeat(48)],
    [`${'x'.repeat(47)} y`, 'x'.repeat(47)],
  ] as const)
    assert.equal(slugOf(name), slug);
  assert.match(slugBeside('x'.repeat(48)), /^x{43}-[a-z]{4}$/);
});

test('the list has only own organizations, oldest first, each with the level there', async () => {
  const { key, user, organization } = await harness.newOrganization();
  const other = await harness.newOrganization();
  await addMember(harness.deps, other.organization.id, user, 1);
  const third = await create(key, { name: 'Third' });
  const { body } = await harness.request('GET', list, { key });
  assert.equal(body.count, 3);
  assert.deepEqual(
    body.results.map((row: { id: string; membership_level: number }) => [
      row.id,
      row.membership_level,
    ]),
    [
      [organization.id, 15],
      [other.organization.id, 1],
      [third.body.id, 15],
    ],
  );
  assert.equal(body.results[1].member_count, '2');
  const page = await harness.request('GET', `${list}?limit=1&offset=1`, { key });
  assert.equal(page.body.results[0].id, other.organization.id);
  assert.equal(page.body.next, `http://127.0.0.1:8000${list}?limit=1&offset=2`);
  assert.equal(page.body.previous, `http://127.0.0.1:8000${list}?limit=1&offset=0`);
});

test('@current is the oldest membership; without one it is 404 and the list is empty', async () => {
  const { key, organization } = await harness.newOrganization();
  await create(key, { name: 'Later' });
  assert.equal(
    (await harness.request('GET', `${list}@current/`, { key })).body.id,
    organization.id,
  );
  assert.equal((await harness.request('DELETE', `${list}@current/`, { key })).status, 204);
  assert.equal((await harness.request('GET', `${list}@current/`, { key })).body.name, 'Later');
  assert.equal((await harness.request('DELETE', `${list}@current/`, { key })).status, 204);
  assert.equal((await harness.request('GET', `${list}@current/`, { key })).status, 404);
  assert.deepEqual((await harness.request('GET', list, { key })).body, {
    count: 0,
    next: null,
    previous: null,
    results: [],
  });
});

test('member_count counts active users only', async () => {
  const { key, organization } = await harness.newOrganization();
  const { user } = await harness.newMember(organization.id, 1);
  const count = async () =>
    (await harness.request('GET', `${list}${organization.id}/`, { key })).body.member_count;
  assert.equal(await count(), '2');
  await harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${user.id}`);
  assert.equal(await count(), '1');
});

test('PATCH changes only what is sent, PUT needs the name and keeps the rest', async () => {
  const { key, organization, user } = await harness.newOrganization();
  await harness.giveSecondFactor(user);
  const path = `${list}${organization.id}/`;
  const patch = (body: unknown) => harness.request('PATCH', path, { key, body });
  const unchanged = await patch({});
  assert.deepEqual(unchanged.body, organization);
  const changed = await patch({ enforce_2fa: true, is_member_join_email_enabled: false });
  assert.deepEqual(
    [changed.body.name, changed.body.enforce_2fa, changed.body.is_member_join_email_enabled],
    ['Test', true, false],
  );
  assert.ok(isLater(changed.body.updated_at, organization.updated_at));
  assert.equal((await patch({ enforce_2fa: null })).body.enforce_2fa, null);
  assert.equal((await patch({ name: null })).body.code, 'null');
  assert.equal(
    (await patch({ plugins_access_level: 0, slug: 'x', membership_level: 1 })).body
      .plugins_access_level,
    6,
  );
  const put = (body: unknown) => harness.request('PUT', path, { key, body });
  assert.equal((await put({})).body.code, 'required');
  const full = await put({ name: 'Full' });
  assert.deepEqual([full.body.name, full.body.is_member_join_email_enabled], ['Full', false]);
});

test('validate_only makes every check and changes nothing', async () => {
  const { key, organization } = await harness.newOrganization();
  const path = `${list}${organization.id}/`;
  const only = (method: string, url: string, body?: unknown) =>
    harness.request(method, `${url}?validate_only=true`, { key, body });
  const created = await only('POST', list, { name: 'Would be' });
  assert.deepEqual([created.status, created.body.name], [200, 'Would be']);
  assert.equal((await harness.request('GET', `${list}${created.body.id}/`, { key })).status, 404);
  assert.equal((await only('PATCH', path, { name: 'Would be' })).body.name, 'Would be');
  assert.equal((await only('PATCH', path, { name: '' })).status, 400);
  const gone = await only('DELETE', path);
  assert.deepEqual([gone.status, gone.text], [204, '']);
  assert.deepEqual((await harness.request('GET', path, { key })).body, organization);
});

test('DELETE takes everything with it, and a second one is 404', async () => {
  const { key, organization, project, user } = await harness.newOrganization();
  const { db } = harness.deps;
  const [exported] = await db.rows<{ id: string }>(sql`
    INSERT INTO batch_exports (id, team_id, name, model, destination_type, "interval", timezone,
      planned_until)
    VALUES (gen_random_uuid(), ${project.id}, 'x', 'events', 'NoOp', 'hour', 'UTC', now())
      RETURNING id`);
  const [run] = await db.rows<{ id: string }>(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id,
      data_interval_start, data_interval_end, selection)
    VALUES (gen_random_uuid(), ${exported!.id}, ${project.id}, 1, gen_random_uuid(), now(), now(),
      '[]') RETURNING id`);
  const path = `${list}${organization.id}/`;
  const only = await harness.request('DELETE', `${path}?validate_only=true`, { key });
  assert.equal(only.status, 204);
  assert.ok(await db.row(sql`SELECT 1 FROM batch_export_runs WHERE id = ${run!.id}`));
  const answer = await harness.request('DELETE', path, { key });
  assert.deepEqual(
    [answer.status, answer.text, answer.headers['content-type']],
    [204, '', undefined],
  );
  // The history of exports goes after the answer.
  await sweepDeleted(harness.deps);
  for (const table of [
    'organizations',
    'members',
    'projects',
    'batch_exports',
    'batch_export_runs',
  ]) {
    const left = await db.text(
      `SELECT count(*) AS count FROM ${table} t WHERE to_jsonb(t)::text ~ $1`,
      [`${organization.id}|${exported!.id}`],
    );
    assert.equal(left.rows[0]!['count'], 0, table);
  }
  assert.equal((await harness.request('DELETE', path, { key })).status, 404);
  assert.ok(await db.row(sql`SELECT 1 FROM users WHERE id = ${user.id}`));
});

test('one of several concurrent deletions is 204, the others 404', async () => {
  const { key, organization } = await harness.newOrganization();
  const answers = await Promise.all(
    Array.from({ length: 5 }, () =>
      harness.request('DELETE', `${list}${organization.id}/`, { key }),
    ),
  );
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [204, 404, 404, 404, 404]);
});

test('a name is one line; older names of several lines stay readable', async () => {
  const name = 'Acme\n\nYour account is locked: https://evil.example/x';
  const { key, organization } = await harness.newOrganization({ name });
  const path = `${list}${organization.id}/`;
  for (const wrong of [
    name,
    'a\nb',
    'a\rb',
    'a\u2028b',
    'a\u202eb',
    'a\u2066b',
    'a\u200fb',
    'a\u0007b',
  ])
    for (const answer of [
      await create(key, { name: wrong }),
      await harness.request('PATCH', path, { key, body: { name: wrong } }),
    ]) {
      assert.equal(answer.status, 400, JSON.stringify(wrong));
      assert.deepEqual([answer.body.attr, answer.body.code], ['name', 'invalid_input']);
      assert.match(answer.body.detail, /^Must be one line of text/);
    }
  assert.equal((await harness.request('GET', path, { key })).body.name, name);
  const body = { is_member_join_email_enabled: false };
  const changed = await harness.request('PATCH', path, { key, body });
  assert.deepEqual([changed.status, changed.body.name], [200, name]);
  assert.equal((await create(key, { name: 'Zoë 👩‍💻 اسم' })).status, 201);
});
