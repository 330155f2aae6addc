import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { forged_claims } from '../../../../test/saml/forged_claims.ts';
import { forged_documents } from '../../../../test/saml/forged_documents.ts';
import { forged_signatures } from '../../../../test/saml/forged_signatures.ts';
import { forged_wrappings } from '../../../../test/saml/forged_wrapping.ts';
import { beginSignIn } from '../../../../test/saml/forgery.ts';
import { inDepth } from '../../../../test/depth.ts';
import { forgetAllAttempts } from '../../../../test/factories/people/people.ts';
import {
  encodeResponse,
  responseFacts,
  signedResponse,
  testIdentityProvider,
} from '../../../../test/saml/identity_provider.ts';
import {
  accountAt,
  assertRefused,
  beginSaml,
  genuine,
  neutralTo,
  openNavigator,
  openSingleSignOn,
  postResponse,
  respond,
  shownIn,
  assertStillOpen,
} from '../../../../test/factories/people/single_sign_on.ts';
import type { Home } from '../../../../test/factories/people/single_sign_on.ts';
import { peekRequestId } from '../../../platform/saml/response.ts';
import { sweepSingleSignOn } from '../sweep.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

let home: Home;
const world = aroundTests(
  () => openSingleSignOn({ config: { public_url: 'https://sluice.example' } }),
  async (opened) => {
    home = await opened.newHome({ jit_provisioning_enabled: true });
  },
);

const newBrowser = () => openNavigator(world.harness);
const count = async (table: 'users' | 'sessions') =>
  (await world.harness.deps.db.text(`SELECT count(*)::integer AS count FROM ${table}`)).rows[0]![
    'count'
  ] as number;

test('the sign-in refuses forged responses with one sentence, and logs the reason', async () => {
  const browser = newBrowser();
  const request = await beginSaml(browser);
  const all = [...forged_wrappings, ...forged_signatures, ...forged_documents, ...forged_claims];
  assert.ok(all.length >= 100);
  // Each of them is shown to the gate itself, by its own tests.
  const forgeries = all.filter((_forgery, at) => at % inDepth(9, 1) === 0);
  const before_all = [await count('users'), await count('sessions')];
  for (const { name, refused, create } of forgeries) {
    const xml = create(beginSignIn(world.clock.now(), request));
    await forgetAllAttempts(world.harness);
    const answer = await postResponse(browser, xml);
    // One that names another request is not read any further.
    const peeked = peekRequestId({ SAMLResponse: encodeResponse(xml) });
    const isOurs = 'refused' in peeked || peeked.request_id === request.id;
    assert.deepEqual(world.reasons(), [isOurs ? refused : 'request_unknown'], name);
    assert.ok(answer.status === 403 || answer.status === 400, name);
    assert.equal(shownIn(answer), neutralTo(answer), name);
  }
  assert.deepEqual([await count('users'), await count('sessions')], before_all);
  const { values } = await world.harness.deps.metrics.single_sign_ons.get();
  const counted = values
    .filter(({ labels }) => labels['way'] === 'saml' && labels['outcome'] !== 'accepted')
    .reduce((sum, { value }) => sum + value, 0);
  assert.equal(counted, forgeries.length);
  await assertStillOpen(world, browser, request);
});

test('repeated refused responses have to wait, good ones do not count', async () => {
  await forgetAllAttempts(world.harness);
  const browser = newBrowser();
  const sendForged = async () =>
    postResponse(
      browser,
      genuine(world, await beginSaml(browser), { audience: 'https://evil.example/' }),
    );
  const counted = 5;
  for (let number = 0; number < counted; number += 1)
    assert.equal((await sendForged()).status, 403);
  // The next 44 that would be counted as these were.
  const rows = await world.harness.deps.db.rows(
    sql`UPDATE attempts SET attempts = 49 WHERE attempts = ${counted} RETURNING 1`,
  );
  assert.equal(rows.length, 1);
  for (let number = 0; number < 3; number += 1)
    assert.equal((await respond(browser, genuine(world, await beginSaml(browser)))).status, 303);
  assert.equal((await sendForged()).status, 403);
  const request = await beginSaml(browser);
  const slowed = await postResponse(browser, genuine(world, request));
  assert.deepEqual([slowed.status, slowed.headers['retry-after']], [429, '2']);
  assert.deepEqual(world.reasons(), Array(counted + 1).fill('audience'));
  assert.match(slowed.headers['content-type']!, /^text\/html/);
  world.clock.pass(2_000);
  // The request was not used up.
  assert.equal((await respond(browser, genuine(world, request))).status, 303);
  await forgetAllAttempts(world.harness);
});

test('a response that was used is refused, in the same browser and in another', async () => {
  const browser = newBrowser();
  const xml = genuine(world, await beginSaml(browser));
  assert.equal((await respond(browser, xml)).status, 303);
  const thief = newBrowser();
  await assertRefused(world, thief, await postResponse(thief, xml), 'request_unknown');
});

test('an assertion is used once, also in the answer to a second request', async () => {
  const [first, second] = [newBrowser(), newBrowser()];
  const request = await beginSaml(first);
  const assertion_id = '_the_same';
  assert.equal((await respond(first, genuine(world, request, { assertion_id }))).status, 303);
  const next = await beginSaml(second);
  await assertRefused(
    world,
    second,
    await respond(second, genuine(world, next, { assertion_id })),
    'assertion_used',
  );
  await assertStillOpen(world, second, next);
});

test('a response in another browser is no sign-in, for thief or victim', async () => {
  const [owner, thief, stranger] = [newBrowser(), newBrowser(), newBrowser()];
  const request = await beginSaml(owner);
  await beginSaml(stranger);
  const taken = await postResponse(thief, genuine(world, request));
  assert.equal(taken.status, 303);
  for (const other of [thief, stranger])
    await assertRefused(world, other, await other.go(taken.headers['location']!), 'other_browser');
  assert.equal((await owner.go(taken.headers['location']!)).status, 303);
  assert.ok(await accountAt(world.harness, owner));
});

test('the second step alone signs no one in', async () => {
  const browser = newBrowser();
  await beginSaml(browser);
  const row = await world.harness.deps.db.row<{ id: string }>(
    sql`SELECT id FROM sso_requests ORDER BY id DESC LIMIT 1`,
  );
  for (const id of [row!.id, crypto.randomUUID(), 'x', ''])
    await assertRefused(
      world,
      browser,
      await browser.go(`/complete/saml/?id=${id}`),
      'other_browser',
    );
  await assertRefused(world, browser, await browser.go('/complete/saml/'), 'other_browser');
});

test(
  "another tenant's provider: for our request, in our provider's name, and with an address of " +
    'ours at its own sign-in',
  async () => {
    const other = testIdentityProvider('other');
    const fields = {
      saml_entity_id: other.entity_id,
      saml_acs_url: other.sso_url,
      saml_x509_cert: other.certificate,
      jit_provisioning_enabled: true,
    };
    await world.newHome(fields, 'other.example');
    const browser = newBrowser();
    const [ours, theirs] = [
      await beginSaml(browser),
      await beginSaml(browser, 'eve@other.example'),
    ];
    assert.notEqual(ours.issuer, theirs.issuer);
    const attempts: [string, string][] = [
      [genuine(world, ours, {}, other), 'issuer'],
      [
        genuine(
          world,
          ours,
          { issuer: home.domain.saml_entity_id!, response_issuer: home.domain.saml_entity_id! },
          other,
        ),
        'signature',
      ],
      [genuine(world, theirs, { email: 'ada@acme.example' }, other), 'email_domain'],
      [
        genuine(world, theirs, { audience: ours.issuer, email: 'eve@other.example' }, other),
        'audience',
      ],
      [genuine(world, ours, { audience: theirs.issuer }), 'audience'],
    ];
    for (const [xml, reason] of attempts)
      await assertRefused(world, browser, await respond(browser, xml), reason);
    assert.equal(
      (await respond(browser, genuine(world, theirs, { email: 'eve@other.example' }, other)))
        .status,
      303,
    );
  },
);

test('the sweep removes expired rows', async () => {
  const browser = newBrowser();
  const request = await beginSaml(browser);
  await sweepSingleSignOn(world.harness.deps);
  await assertStillOpen(world, browser, request);
  await beginSaml(browser);
  world.clock.pass(3_600_000);
  await sweepSingleSignOn(world.harness.deps);
  for (const table of ['sso_requests', 'saml_assertions'])
    assert.equal(
      (await world.harness.deps.db.text(`SELECT count(*)::integer AS count FROM ${table}`))
        .rows[0]!['count'],
      0,
      table,
    );
});

test('an assertion that the genuine provider created for another is theirs alone', async () => {
  const acme = testIdentityProvider('acme');
  const [ada, bob] = [newBrowser(), newBrowser()];
  const [asked, other] = [await beginSaml(ada), await beginSaml(bob, 'bob@acme.example')];
  const stolen = signedResponse(
    acme,
    responseFacts(acme, other, { email: 'bob@acme.example' }, world.clock.now()),
  );
  await assertRefused(
    world,
    ada,
    await respond(ada, stolen.replaceAll(other.id, asked.id)),
    'signature',
  );
});
