import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import {
  readLoginUrl,
  readTestCertificate,
  testIdentityProvider,
} from '../../../test/saml/identity_provider.ts';
import {
  changeDomain,
  genuine,
  openNavigator,
  openSingleSignOn,
  postResponse,
  respond,
  sessionOf,
} from '../../../test/factories/people/single_sign_on.ts';
import type { Home, Navigator } from '../../../test/factories/people/single_sign_on.ts';

const world = aroundTests(openSingleSignOn);

const ask = (home: Home, key = home.key, body?: unknown) =>
  world.harness.request(
    'POST',
    `/api/organizations/${home.organization.id}/domains/${home.domain.id}/test_sign_in/`,
    { key, body },
  );
const pathOf = (url: string) => url.slice(world.harness.deps.config.public_url.length);
async function begin(home: Home, browser: Navigator) {
  const { status, body } = await ask(home);
  assert.equal(status, 200);
  const begun = await browser.go(pathOf(body.url));
  assert.equal(begun.status, 303, begun.text);
  return readLoginUrl(begun.headers['location']!);
}
const factsOf = (text: string) =>
  Object.fromEntries(
    [...text.matchAll(/<dt>(.*?)<\/dt>\s*<dd>(.*?)<\/dd>/g)].map(([, name, value]) => [
      name,
      value,
    ]),
  );

test('a test shows the response and signs no one in, before anything is enforced', async () => {
  const home = await world.newHome();
  assert.equal((await ask(home, home.key, '{')).status, 400);
  const browser = openNavigator(world.harness);
  const answer = await respond(
    browser,
    genuine(world, await begin(home, browser), {
      attributes: { email: 'Ada@acme.example', 'a<b': 'x', givenName: 'Ada' },
    }),
  );
  assert.deepEqual([answer.status, sessionOf(browser)], [200, {}]);
  assert.match(answer.text, /This was a test: nobody was signed in\./);
  const {
    'Valid until': until,
    'Fingerprint (SHA-256)': fingerprint,
    Certificate: subject,
    ...facts
  } = factsOf(answer.text);
  assert.deepEqual(facts, {
    'E-mail address': 'ada@acme.example',
    NameID: 'ada@acme.example',
    'First name': 'Ada',
    'Last name': 'not sent',
    Attributes: 'email, a&lt;b, givenName',
  });
  assert.match(fingerprint, /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
  assert.ok(subject!.length > 0 && Date.parse(until) > world.clock.now());
  assert.deepEqual(world.reasons(), []);
  assert.equal(
    await world.harness.deps.db.row(sql`SELECT 1 FROM users WHERE email = 'ada@acme.example'`),
    undefined,
  );
});

test('a test to be refused says why, in the browser that began it alone and the log', async () => {
  const home = await world.newHome();
  const browser = openNavigator(world.harness);
  const taken = await postResponse(
    browser,
    genuine(world, await begin(home, browser), { audience: 'https://other.example/' }),
  );
  assert.deepEqual([taken.status, world.reasons()], [303, ['audience']]);
  assert.equal((await openNavigator(world.harness).go(taken.headers['location']!)).status, 403);
  assert.deepEqual(world.reasons(), ['other_browser']);
  const shown = await browser.go(taken.headers['location']!);
  assert.equal(shown.status, 200);
  assert.equal(factsOf(shown.text)['Reason'], 'audience');
  assert.match(factsOf(shown.text)['What was found'], /audience|entity id/i);
  assert.equal((await browser.go(taken.headers['location']!)).status, 403);
});

test('a test names the certificate that verified, and warns of its end', async () => {
  const [acme, other] = [
    testIdentityProvider('acme').certificate,
    testIdentityProvider('other').certificate,
  ];
  // It has the key of acme's.
  const expired = readTestCertificate('saml_expired.crt');
  const shownWith = async (saml_x509_cert: string) => {
    const home = await world.newHome({ saml_x509_cert });
    const browser = openNavigator(world.harness);
    return (await respond(browser, genuine(world, await begin(home, browser)))).text;
  };
  const fresh = await shownWith(`${other}\n${expired}\n${acme}`);
  assert.doesNotMatch(fresh, /Warning/);
  assert.match(factsOf(fresh)['Certificate'], /acme/);
  assert.match(await shownWith(expired), /Warning: the certificate has expired/);
  world.clock.pass(Date.parse(factsOf(fresh)['Valid until']) - world.clock.now() - 29 * 86_400_000);
  assert.match(
    await shownWith(`${acme}\n${expired}`),
    /Warning: the certificate expires within 30 days/,
  );
});

test('the address of a test works for ten minutes, and cannot be forged', async () => {
  const home = await world.newHome();
  const { url, expires_at } = (await ask(home)).body;
  assert.equal(Date.parse(expires_at), world.clock.now() + 600_000);
  const path = pathOf(url);
  const token = decodeURIComponent(path.split('test=')[1]!);
  const [name, expires, seal] = token.split('~');
  const wrong = [
    `${name}~${Number(expires) + 1}~${seal}`,
    `other.example~${expires}~${seal}`,
    `${name}~${expires}`,
    `${name}~${expires}~${seal!.slice(1)}`,
    '~~',
    'x',
  ];
  for (const one of wrong)
    assert.equal(
      (await openNavigator(world.harness).go(`/login/saml/?test=${encodeURIComponent(one)}`))
        .status,
      404,
      one,
    );
  assert.equal((await openNavigator(world.harness).go(path)).status, 303);
  world.clock.pass(600_000);
  assert.equal((await openNavigator(world.harness).go(path)).status, 404);
});

test('only who may change a domain tests it, and only a verified one with a provider', async () => {
  const home = await world.newHome();
  const member = await world.harness.newMember(home.organization.id, 1);
  assert.equal((await ask(home, member.key)).status, 403);
  assert.equal((await ask(home, (await world.harness.newOrganization()).key)).status, 404);
  await changeDomain(home, { saml_acs_url: null });
  assert.deepEqual([(await ask(home)).status, (await ask(home)).body.code], [400, 'invalid_input']);
  await world.harness.deps.db.run(
    sql`UPDATE domains SET state = 'pending' WHERE id = ${home.domain.id}`,
  );
  assert.deepEqual(
    [(await ask(home)).status, (await ask(home)).body.code],
    [400, 'verification_required'],
  );
});

test('the metadata is public, names the organization, and knows no other', async () => {
  const home = await world.newHome();
  const answer = await world.harness.request(
    'GET',
    `/api/saml/metadata/?organization=${home.organization.id.toUpperCase()}`,
  );
  assert.match(
    answer.text,
    new RegExp(`entityID="[^"]*/api/saml/metadata/\\?organization=${home.organization.id}"`),
  );
  assert.match(answer.text, /WantAssertionsSigned="true"/);
  for (const wrong of ['01890000-0000-7000-8000-000000000000', 'x', '%00', '']) {
    const { status } = await world.harness.request(
      'GET',
      `/api/saml/metadata/?organization=${wrong}`,
    );
    assert.ok([400, 404].includes(status), wrong);
  }
  assert.equal((await world.harness.request('GET', '/api/saml/metadata/')).status, 400);
});
