import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import {
  assertRefused,
  openNavigator,
  openSingleSignOn,
} from '../../../../test/factories/people/single_sign_on.ts';
import type { SingleSignOnWorld } from '../../../../test/factories/people/single_sign_on.ts';

let world: SingleSignOnWorld;
before(async () => {
  world = await openSingleSignOn({ config: { public_url: 'https://sluice.example' } });
  await world.newHome({ jit_provisioning_enabled: true });
});
after(() => world.close());

const newBrowser = () => openNavigator(world.harness);

const bodies: [string, string, string | Buffer][] = [
  ['nothing', 'application/x-www-form-urlencoded', ''],
  ['no SAMLResponse', 'application/x-www-form-urlencoded', 'RelayState=x'],
  [
    'SAMLResponse twice',
    'application/x-www-form-urlencoded',
    'SAMLResponse=AAAA&SAMLResponse=BBBB',
  ],
  ['JSON', 'application/json', '{"SAMLResponse":"AAAA"}'],
  ['no kind of body', 'text/plain', 'SAMLResponse=AAAA'],
];
for (const [name, type, sent] of bodies) {
  test(`a body that is no form with a response: ${name}`, async () => {
    const answer = await world.harness.request('POST', '/complete/saml/', {
      headers: { 'content-type': type },
      body: sent,
    });
    await assertRefused(world, newBrowser(), answer, 'form', 400);
  });
}
for (const [name, sent, reason] of [
  ['not base64', '****', 'not_base64'],
  ['not XML', Buffer.from('<a').toString('base64'), 'not_xml'],
  ['another document', Buffer.from('<a/>').toString('base64'), 'not_a_response'],
] as const) {
  test(`a body without a response is 400: ${name}`, async () => {
    const browser = newBrowser();
    await assertRefused(
      world,
      browser,
      await browser.post('/complete/saml/', { SAMLResponse: sent }, true),
      reason,
      400,
    );
  });
}

test('a form of more than 512 KiB is 413 before it is read', async () => {
  const browser = newBrowser();
  const answer = await browser.post('/complete/saml/', { SAMLResponse: 'A'.repeat(600_000) }, true);
  assert.equal(answer.status, 413);
  assert.match(answer.text, /The request is larger than a sign-in can be\./);
});

const unavailable: [string, () => Promise<string>][] = [
  ['an unknown domain', async () => 'ada@nobody.example'],
  ['no address', async () => ''],
  ['no domain', async () => 'ada'],
  ['a subdomain', async () => 'ada@mail.acme.example'],
  [
    'a domain without a provider',
    async () => (await world.newHome({ saml_entity_id: null }, 'bare.example'), 'ada@bare.example'),
  ],
  [
    'a domain that is not verified',
    async () => {
      const { domain } = await world.newHome({}, 'pending.example');
      await world.harness.deps.db.run(
        sql`UPDATE domains SET state = 'pending' WHERE id = ${domain.id}`,
      );
      return 'ada@pending.example';
    },
  ],
];
test('the page is the same for every address without a provider', async () => {
  const pages = new Set<string>();
  for (const [name, create] of unavailable) {
    const answer = await newBrowser().go(
      `/login/saml/?email=${encodeURIComponent(await create())}`,
    );
    assert.deepEqual([answer.status, answer.headers['set-cookie']], [404, undefined], name);
    pages.add(answer.text);
  }
  assert.equal(pages.size, 1);
});

test('addresses that make a fault elsewhere make none here', async () => {
  for (const query of [
    'email=a&email=b',
    'email=%00',
    'next=%00',
    'email=%F0%9F%98%80@%F0%9F%98%80.example',
    `email=${'a'.repeat(20_000)}@acme.example`,
    'test=x',
    'test=a~b~c',
  ])
    assert.ok(
      [303, 400, 404].includes((await newBrowser().go(`/login/saml/?${query}`)).status),
      query.slice(0, 40),
    );
});
