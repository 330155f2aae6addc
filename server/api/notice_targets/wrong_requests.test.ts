import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { attrsOf, newExport } from '../../../test/factories/batch_exports/batch_exports.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { webhook_secret } from '../../../test/factories/notices.ts';
import { harness, openAroundTests } from '../../../test/factories/notices_around_tests.ts';

const now = Date.parse('2026-01-01T00:00:00Z');
openAroundTests(() => now);

const projectList = (home: TestOrganization) => `/api/projects/${home.project.id}/notice_targets/`;
const organizationList = (home: TestOrganization) =>
  `/api/organizations/${home.organization.id}/notice_targets/`;
const secret = webhook_secret;

test('wrong bodies are 400 and name what is wrong; a project has 50 targets at most', async () => {
  const home = await harness.newOrganization();
  const other = await harness.newOrganization();
  const foreign = await newExport(other);
  const post = (body: unknown) => home.ask('POST', projectList(home), body);
  const hook = { type: 'webhook', url: 'https://example.com/' };
  const mail = { type: 'email', address: 'ops@example.com' };
  const cases: [unknown, string[]][] = [
    [{}, ['type required']],
    [{ type: 'pager' }, ['type invalid_choice']],
    [{ type: 'email' }, ['address required']],
    [{ type: 'webhook' }, ['url required']],
    [{ ...mail, address: 'nobody' }, ['address invalid_input']],
    [{ ...hook, url: null }, ['url null']],
    [
      { ...mail, url: 'https://example.com/', secret },
      ['secret invalid_input', 'url invalid_input'],
    ],
    [{ ...hook, address: 'ops@example.com' }, ['address invalid_input']],
    [{ ...hook, url: 'ftp://example.com/' }, ['url invalid_input']],
    [{ ...hook, url: 'https://user:word@example.com/' }, ['url invalid_input']],
    [{ ...hook, url: 'nonsense' }, ['url invalid_input']],
    [{ ...hook, url: 'http://10.0.0.1/' }, ['url invalid_input']],
    [{ ...hook, url: 'http://[::1]:8080/' }, ['url invalid_input']],
    [{ ...hook, secret: 'short' }, ['secret invalid_input']],
    [{ ...hook, secret: 'whsec_c2hvcnQ=' }, ['secret invalid_input']],
    [{ ...hook, secret: null }, ['secret null']],
    [{ ...hook, events: [] }, ['events min_items']],
    [{ ...hook, events: ['failing', 'sleeping'] }, ['events__1 invalid_choice']],
    [{ ...hook, batch_export_ids: [] }, ['batch_export_ids min_items']],
    [{ ...hook, batch_export_ids: ['x'] }, ['batch_export_ids__0 invalid_input']],
    [{ ...hook, batch_export_ids: [foreign.id] }, ['batch_export_ids__0 invalid_input']],
    [
      { ...hook, url: 'ftp://example.com/', secret: 'short', events: ['sleeping'] },
      ['events__0 invalid_choice', 'secret invalid_input', 'url invalid_input'],
    ],
    [
      { type: 'email', url: 'https://example.com/', enabled: 'yes' },
      ['address required', 'enabled invalid_input', 'url invalid_input'],
    ],
  ];
  for (const [body, attrs] of cases) {
    const answer = await post(body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.deepEqual(attrsOf(answer), attrs, JSON.stringify(body));
  }
  for (const team_id of [other.project.id, 0, 'x'])
    assert.equal(
      (await home.ask('POST', organizationList(home), { ...hook, team_id })).body.attr,
      'team_id',
    );
  await harness.deps.db.run(sql`
    INSERT INTO notice_targets (id, team_id, type, address, events, enabled)
      SELECT gen_random_uuid(), ${home.project.id}, 'email', 'a@example.com', '{late}', true
      FROM generate_series(1, 50)`);
  assert.equal((await post(hook)).status, 409);
});

test('strangers and other projects get 404, keys without the scope 403', async () => {
  const home = await harness.newOrganization();
  const stranger = await harness.newOrganization();
  const second = await home.ask('POST', '/api/projects/', {
    name: 'Second',
    organization: home.organization.id,
  });
  const { id } = (
    await home.ask('POST', projectList(home), { type: 'email', address: 'ops@example.com' })
  ).body;
  const reader = await harness.newMember(home.organization.id, 1, ['batch_export:read']);
  for (const [base, key] of [
    [projectList(home), stranger.key],
    [organizationList(stranger), stranger.key],
    [`/api/projects/${second.body.id}/notice_targets/`, home.key],
  ] as const) {
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', 'test/'],
    ] as const)
      assert.equal(
        (
          await harness.request(method, `${base}${id}/${path}`, {
            key,
            ...(method === 'GET' ? {} : { body: {} }),
          })
        ).status,
        404,
        `${method} ${base}`,
      );
  }
  assert.equal((await reader.ask('GET', `${projectList(home)}${id}/`)).status, 200);
  assert.equal((await reader.ask('DELETE', `${projectList(home)}${id}/`)).status, 403);
});
