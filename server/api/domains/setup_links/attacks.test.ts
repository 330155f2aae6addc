import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { domainsPath, openDomainWorld } from '../../../../test/factories/people/domains.ts';
import {
  newLinkHome,
  provider,
  publishProof,
  through as throughLink,
} from '../../../../test/factories/people/setup_links.ts';
import type { LinkHome } from '../../../../test/factories/people/setup_links.ts';
import type { Answer } from '../../../../test/harness.ts';
import { faultsOf } from '../../../../test/watchers/faults_of.ts';

const world = aroundTests(openDomainWorld);
const day_ms = 24 * 3_600_000;

const newHome = () => newLinkHome(world);
const through = (...[url, name, body, sent]: LinkAsked) =>
  throughLink(world.harness, url, name, body, sent);
type LinkAsked = [
  url: string,
  name: string,
  body?: object,
  sent?: { headers?: Record<string, string> },
];
const publish = (domain: LinkHome['domain']) => publishProof(world, domain);
const at = (ms: number) => new Date(ms).toISOString();
const refusal = ({ status, body }: Answer) => `${status} ${body?.code}`;

test('a link that ended opens nothing, in the words of an unknown one', async () => {
  const names = ['open', 'verify', 'provider', 'provider_metadata', 'test_sign_in'];
  const bodies: Record<string, object> = {
    provider: provider(),
    provider_metadata: { metadata: '<x/>' },
  };
  const unknown = await through(`#sll_${'0'.repeat(43)}`, 'open');
  const words = ({ body }: Answer) => ({ ...body, request_id: '' });
  const closed = async (url: string, why: string) => {
    for (const name of names) {
      const answer = await through(url, name, bodies[name]);
      assert.deepEqual(words(answer), words(unknown), `${why}: ${name}`);
    }
  };
  const { db } = world.harness.deps;
  const endings: [string, (its: LinkHome, id: string) => Promise<unknown>][] = [
    ['revoked', ({ ask, links }, id) => ask('DELETE', `${links}${id}/`)],
    ['expired', async () => world.goTo(world.now() + 7 * day_ms)],
    [
      'its owner is no owner any more',
      ({ home }) => db.run(sql`UPDATE members SET level = 8 WHERE user_id = ${home.user.id}`),
    ],
    [
      'its owner is deactivated',
      ({ home }) => db.run(sql`UPDATE users SET is_active = false WHERE id = ${home.user.id}`),
    ],
    [
      'the domain has another name',
      ({ domain }) =>
        db.run(sql`UPDATE domains SET domain = ${`renamed.${domain.domain}`}
            WHERE id = ${domain.id}::uuid`),
    ],
    [
      'the domain is of another organization',
      async ({ domain }) => {
        const { organization } = await world.harness.newOrganization();
        return db.run(sql`UPDATE domains SET organization_id = ${organization.id}::uuid
            WHERE id = ${domain.id}::uuid`);
      },
    ],
    [
      'the domain was given up',
      ({ domain }) => db.run(sql`DELETE FROM domains WHERE id = ${domain.id}::uuid`),
    ],
  ];
  for (const [why, end] of endings) {
    const its = await newHome();
    const { id, url } = await its.newLink();
    assert.equal((await through(url, 'open')).status, 200, why);
    await end(its, id);
    await closed(url, why);
  }
});

test('only an owner who confirmed lately creates links, for a domain of theirs', async () => {
  const { home, domain, links, create, newLink } = await newHome();
  const stranger = await newHome();
  const body = { name: 'Robin' };
  for (const [who, level] of [
    [await world.harness.newMember(home.organization.id, 1), 1],
    [await world.harness.newMember(home.organization.id, 8), 8],
  ] as const)
    assert.equal(refusal(await who.ask('POST', links, body)), '403 permission_denied', `${level}`);
  const foreign = `${domainsPath(home)}${stranger.domain.id}/setup_links/`;
  assert.equal(refusal(await home.ask('POST', foreign, body)), '404 not_found');
  assert.equal(refusal(await stranger.ask('POST', links, body)), '404 not_found');
  const { id } = await newLink();
  const elsewhere = `${domainsPath(stranger.home, stranger.domain)}setup_links/${id}/`;
  assert.equal(refusal(await stranger.ask('DELETE', elsewhere)), '404 not_found');
  assert.deepEqual(faultsOf(await create({})), ['name required']);
  for (const expires_at of [at(world.now() - 1), at(world.now() + 30 * day_ms + 1)])
    assert.deepEqual(faultsOf(await create({ ...body, expires_at })), ['expires_at invalid_input']);
  for (let count = 1; count < 5; count += 1) await newLink();
  assert.deepEqual(faultsOf(await create()), [' max_items']);
  world.goTo(world.now() + 11 * 60_000);
  assert.equal(refusal(await create()), '403 own_factor_required');
  assert.equal((await world.read(home, domain)).domain, domain.domain);
});

test('a link is no API key, and no credential that comes along counts', async () => {
  const { home, domain, newLink } = await newHome();
  const { id, url } = await newLink();
  const token = url.split('#')[1]!;
  for (const path of ['/api/organizations/', `/api/organizations/${home.organization.id}/`])
    assert.equal(
      refusal(await world.harness.request('GET', path, { key: token })),
      '401 authentication_failed',
    );
  const scim = await world.harness.request('GET', `/scim/v2/${domain.id}/Users`, { key: token });
  assert.notEqual(scim.status, 200);
  const stranger = await newHome();
  const open = { headers: { cookie: stranger.cookie } };
  publish(domain);
  assert.equal((await through(url, 'verify', {}, open)).body.domain, domain.domain);
  const { body } = await home.ask(
    'GET',
    `/api/organizations/${home.organization.id}/activity/?key=${id}`,
  );
  assert.deepEqual(
    [body.results.length, body.results[0].user],
    [1, null],
    'the link, not a session',
  );
  // A session alone, or a key, opens nothing here.
  for (const sent of [{ headers: { cookie: stranger.cookie } }, { key: stranger.home.key }]) {
    const answer = await world.harness.request('POST', '/api/setup_links/open/', {
      ...sent,
      body: { token: `sll_${'1'.repeat(43)}` },
    });
    assert.equal(answer.status, 404);
  }
});

test('a form of another page can send nothing, and answers are kept by nobody', async () => {
  const { newLink } = await newHome();
  const { url } = await newLink();
  const token = url.split('#')[1]!;
  const form = await world.harness.request('POST', '/api/setup_links/open/', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `token=${token}`,
  });
  assert.equal(form.status, 415);
  const text = await world.harness.request('POST', '/api/setup_links/open/', {
    headers: { 'content-type': 'text/plain' },
    body: JSON.stringify({ token }),
  });
  assert.equal(text.status, 415);
  const shown = await through(url, 'open');
  assert.equal(shown.headers['cache-control'], 'no-store');
  assert.equal(shown.headers['access-control-allow-origin'], undefined);
  assert.equal(shown.headers['set-cookie'], undefined);
  const asked = await world.harness.request('GET', `/api/setup_links/open/?token=${token}`);
  assert.equal(asked.status, 405, 'no address has the token');
});

test('a link that is revoked while its request waits changes nothing', async () => {
  const { home, domain, newLink } = await newHome();
  const { id, url } = await newLink();
  const held = Promise.withResolvers<void>();
  const taken = Promise.withResolvers<void>();
  const revoking = world.harness.deps.db.transaction(async (tx) => {
    await tx.run(sql`SELECT 1 FROM domains WHERE id = ${domain.id}::uuid FOR UPDATE`);
    await tx.run(sql`DELETE FROM setup_links WHERE id = ${id}::uuid`);
    taken.resolve();
    await held.promise;
  });
  await taken.promise;
  const saving = through(url, 'provider', provider());
  await new Promise((done) => setTimeout(done, 100));
  held.resolve();
  await revoking;
  assert.equal(refusal(await saving), '404 not_found');
  assert.equal((await world.read(home, domain)).pending_changes, null);
});
