import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { refusalOf } from '../../../test/refusal.ts';
import { eventually } from '../../../test/eventually.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { Answer, TestOrganization } from '../../../test/harness.ts';
import { insertDomain } from './store.ts';
import { faultsOf } from '../../../test/watchers/faults_of.ts';

const harness = shareHarness({ clickhouse: false });

const base = (home: TestOrganization) => `/api/organizations/${home.organization.id}/domains/`;
const claim = (home: TestOrganization, body: unknown, path = base(home)): Promise<Answer> =>
  home.ask('POST', path, body);
let counter = 0;
const freshName = () => `company-${(counter += 1)}.test`;

test('a new claim has a challenge and a plan of look-ups, and reads the same later', async () => {
  const home = await harness.newOrganization();
  const { status, body } = await claim(home, { domain: '  Müller-Söhne.Example. ' });
  assert.equal(status, 201);
  const { id, verification_challenge, verification, ...rest } = body;
  assert.match(verification_challenge, /^[\w-]{43}$/);
  assert.deepEqual(rest, {
    domain: 'xn--mller-shne-kcb9d.example',
    is_verified: false,
    verified_at: null,
    jit_provisioning_enabled: false,
    sso_enforcement: '',
    has_saml: false,
    saml_entity_id: null,
    saml_acs_url: null,
    saml_x509_cert: null,
    pending_changes: null,
    pending_set_by: null,
    pending_set_at: null,
    managed_by: null,
  });
  assert.deepEqual([verification.state, verification.last_checked_at], ['pending', null]);
  assert.match(verification.reason, /_sluice-challenge\.xn--mller-shne-kcb9d\.example/);
  assert.ok(Date.parse(verification.next_check_at) > Date.parse('2026-01-01'));
  assert.deepEqual((await home.ask('GET', `${base(home)}${id}/`)).body, body);
  assert.notEqual(
    (await claim(home, { domain: freshName() })).body.verification_challenge,
    verification_challenge,
  );
});

test('the list is by name, in pages, and shows nothing of others', async () => {
  const home = await harness.newOrganization();
  const other = await harness.newOrganization();
  await claim(other, { domain: freshName() });
  const names = ['b-two.test', 'a.b-two.test', 'b.test', 'b-10.test', 'zebra.test'];
  for (const domain of names) assert.equal((await claim(home, { domain })).status, 201);
  const list = await home.ask('GET', base(home));
  const listed = list.body.results.map(({ domain }: { domain: string }) => domain);
  assert.deepEqual(
    [list.body.count, listed],
    [5, ['a.b-two.test', 'b-10.test', 'b-two.test', 'b.test', 'zebra.test']],
  );
  const page = await home.ask('GET', `${base(home)}?limit=2&offset=2`);
  assert.deepEqual(
    [page.body.count, page.body.results.map(({ domain }: { domain: string }) => domain)],
    [5, ['b-two.test', 'b.test']],
  );
  assert.match(page.body.next, /offset=4/);
});

const refused: [unknown, string, RegExp][] = [
  [undefined, 'required', /./],
  [null, 'null', /./],
  [5, 'invalid_input', /./],
  [['a.test'], 'invalid_input', /./],
  ['', 'blank', /Enter a domain/],
  ['   ', 'blank', /Enter a domain/],
  ['localhost', 'invalid_input', /must have a dot/],
  ['company', 'invalid_input', /must have a dot/],
  ['https://company.test', 'invalid_input', /leave out https/],
  ['someone@company.test', 'invalid_input', /leave out the @/],
  ['company.test:443', 'invalid_input', /port/],
  ['*.company.test', 'invalid_input', /\*/],
  ['a b.test', 'invalid_input', /spaces/],
  ['-a.test', 'invalid_input', /hyphen/],
  ['a..test', 'invalid_input', /dots/],
  ['192.0.2.1', 'invalid_input', /IP address/],
  ['[2001:db8::1]', 'invalid_input', /IP address/],
  ['xn--zzzzzz.test', 'invalid_input', /./],
  ['a\0b.test', 'null_characters_not_allowed', /./],
  ['co.uk', 'invalid_input', /belongs to no organization/],
  ['github.io', 'invalid_input', /belongs to no organization/],
  ['GMail.com', 'invalid_input', /mailboxes to everybody/],
  ['mail.outlook.com', 'invalid_input', /mailboxes to everybody/],
  [`${'a'.repeat(64)}.test`, 'invalid_input', /./],
  [`${'a.'.repeat(125)}test`, 'max_length', /253/],
];

test('names that are refused say why', async () => {
  const home = await harness.newOrganization();
  for (const [domain, code, detail] of refused) {
    const answer = await claim(home, { domain });
    assert.deepEqual(refusalOf(answer), [400, 'domain', code], JSON.stringify(domain));
    assert.match(answer.body.detail, detail);
  }
  assert.equal((await home.ask('GET', base(home))).body.count, 0);
  const longest = await claim(home, { domain: `${'a.'.repeat(124)}test0`.replace('0', 'a') });
  assert.deepEqual([longest.status, longest.body.domain.length], [201, 253]);
  assert.match(longest.body.verification.reason, /cannot be proved/);
});

test('a name is claimed once over the server, however it is written', async () => {
  const home = await harness.newOrganization();
  const other = await harness.newOrganization();
  assert.equal((await claim(home, { domain: 'straße.test' })).status, 201);
  for (const domain of ['straße.test', 'STRAẞE.test', 'xn--strae-oqa.test', 'Straße.Test.']) {
    for (const [who, words] of [
      [home, /The organization has this domain already/],
      [other, /Another organization/],
    ] as const) {
      const answer = await claim(who, { domain });
      assert.deepEqual([answer.status, faultsOf(answer)], [400, ['domain unique']], domain);
      assert.match(answer.body.detail, words);
    }
  }
});

test('a person who claims a name twice at once is told that they have it', async () => {
  const home = await harness.newOrganization();
  const { db, clock } = harness.deps;
  const domain = freshName();
  const { second } = await db.transaction(async (tx) => {
    const { id: organization_id } = home.organization;
    await insertDomain(tx, { organization_id, domain, reason: '', created_at: clock.now() });
    const asked = claim(home, { domain });
    await eventually('the second claim waits for the first', async () =>
      Boolean(
        await db.row(sql`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'
          AND datname = current_database() AND query LIKE '%INSERT INTO domains%'`),
      ),
    );
    return { second: asked };
  });
  assert.match((await second).body.detail, /The organization has this domain already/);
});

test('read-only fields are ignored and told, unless they are as the record has them', async () => {
  const home = await harness.newOrganization();
  const domain = freshName();
  const created = await claim(home, {
    domain,
    id: 'x',
    is_verified: true,
    verified_at: '2020-01-01T00:00:00Z',
    verification_challenge: 'mine',
    has_saml: true,
  });
  assert.deepEqual(
    [created.status, created.body.is_verified, created.body.verified_at],
    [201, false, null],
  );
  assert.notEqual(created.body.verification_challenge, 'mine');
  assert.equal(
    created.headers['sluice-ignored'],
    'id, is_verified, verified_at, verification_challenge, has_saml',
  );
  for (const method of ['PATCH', 'PUT']) {
    for (const [sent, told] of [
      [{ ...created.body }, undefined],
      [{ is_verified: true, verification: { state: 'verified' } }, 'is_verified, verification'],
      [{ is_verified: false, nonsense: 1 }, 'nonsense'],
      [{}, undefined],
    ] as const) {
      const answer = await home.ask(method, `${base(home)}${created.body.id}/`, sent);
      assert.deepEqual(
        [answer.status, answer.body, answer.headers['sluice-ignored']],
        [200, created.body, told],
        `${method} ${JSON.stringify(sent)}`,
      );
    }
  }
});

test('any member reads, administrators write; foreign domains are unknown', async () => {
  const home = await harness.newOrganization();
  const created = (await claim(home, { domain: freshName() })).body;
  const one = `${base(home)}${created.id}/`;
  const member = await harness.newMember(home.organization.id, 1);
  const administrator = await harness.newMember(home.organization.id, 8);
  const stranger = await harness.newOrganization();
  const writes: [string, string, unknown][] = [
    ['POST', base(home), { domain: freshName() }],
    ['PATCH', one, { saml_entity_id: 'x' }],
    ['PUT', one, { saml_entity_id: 'y' }],
    ['POST', `${one}verify/`, undefined],
    ['DELETE', one, undefined],
  ];
  for (const path of [base(home), one]) assert.equal((await member.ask('GET', path)).status, 200);
  for (const [method, path, body] of writes) {
    assert.equal((await member.ask(method, path, body)).status, 403, `${method} ${path}`);
    const read = await harness.newKey(administrator.user, { scopes: ['organization:read'] });
    assert.equal((await harness.request(method, path, { key: read, body })).status, 403);
    // Under an organization of the caller's own the domain of another is as unknown as none.
    const elsewhere = path.replace(home.organization.id, stranger.organization.id);
    if (path !== base(home))
      assert.equal((await stranger.ask(method, elsewhere, body)).status, 404);
    assert.equal((await stranger.ask(method, path, body)).status, 404);
  }
  for (const [method, path, body] of writes) {
    const { status } = await administrator.ask(method, path, body);
    assert.ok([200, 201, 204].includes(status), `${method} ${path}: ${status}`);
  }
  assert.equal((await home.ask('DELETE', one)).status, 404);
});

test('If-Match, validate_only and repeats work as everywhere', async () => {
  const home = await harness.newOrganization();
  const domain = freshName();
  const dry = await claim(home, { domain }, `${base(home)}?validate_only=true`);
  assert.deepEqual([dry.status, dry.body.domain], [200, domain]);
  const post = () => home.ask('POST', base(home), { domain }, { 'idempotency-key': domain });
  const [created, again] = [await post(), await post()];
  assert.deepEqual([created.status, again.status, again.body], [201, 201, created.body]);
  const one = `${base(home)}${created.body.id}/`;
  const { headers } = await home.ask('GET', one);
  const patch = (saml_entity_id: string) =>
    home.ask('PATCH', one, { saml_entity_id }, { 'if-match': headers['etag'] ?? '' });
  assert.deepEqual([(await patch('one')).status, (await patch('two')).status], [200, 412]);
});

test('every change is one entry of the log, in the words of its action', async () => {
  const home = await harness.newOrganization();
  const { id, domain } = (await claim(home, { domain: freshName() })).body;
  const one = `${base(home)}${id}/`;
  await home.ask('PATCH', one, { saml_entity_id: 'urn:acme' });
  await home.ask('POST', `${one}verify/`);
  await home.ask('DELETE', one);
  const entries = await harness.deps.db.rows<{
    activity: string;
    item_name: string;
    changes: { field: string; after: unknown }[];
    user_id: number;
  }>(
    sql`SELECT activity, item_name, changes, user_id FROM activity WHERE scope = 'domain'
      AND item_id = ${id} ORDER BY number`,
  );
  assert.deepEqual(
    entries.map(({ activity, item_name, user_id }) => [activity, item_name, user_id]),
    ['created', 'updated', 'checked', 'deleted'].map((activity) => [
      activity,
      domain,
      home.user.id,
    ]),
  );
  assert.deepEqual(entries[1]!.changes, [
    { field: 'saml_entity_id', action: 'changed', before: null, after: 'urn:acme' },
  ]);
  assert.deepEqual(entries[2]!.changes, []);
});

test('with the organization its domains go, and their names are free', async () => {
  const home = await harness.newOrganization();
  const other = await harness.newOrganization();
  const domain = freshName();
  await claim(home, { domain });
  assert.equal(
    (await home.ask('DELETE', `/api/organizations/${home.organization.id}/`)).status,
    204,
  );
  assert.equal((await claim(other, { domain })).status, 201);
});
