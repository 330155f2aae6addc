import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { testIdentityProvider } from '../../../../test/saml/identity_provider.ts';
import {
  assertRefused,
  beginSaml,
  changeDomain,
  genuine,
  openNavigator,
  openSingleSignOn,
  postResponse,
  assertStillOpen,
} from '../../../../test/factories/people/single_sign_on.ts';
import type { Home } from '../../../../test/factories/people/single_sign_on.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

let home: Home;
const world = aroundTests(
  () => openSingleSignOn({ config: { public_url: 'https://sluice.example' } }),
  async (opened) => {
    home = await opened.newHome({ jit_provisioning_enabled: true });
  },
);

const newBrowser = () => openNavigator(world.harness);

test('a sign-in has ten minutes, and its second step too', async () => {
  const browser = newBrowser();
  const request = await beginSaml(browser);
  world.clock.pass(599_000);
  const taken = await postResponse(browser, genuine(world, request));
  assert.equal(taken.status, 303);
  world.clock.pass(1_000);
  await assertRefused(
    world,
    browser,
    await browser.go(taken.headers['location']!),
    'other_browser',
  );
  const late = await beginSaml(browser);
  world.clock.pass(600_000);
  await assertRefused(
    world,
    browser,
    await postResponse(browser, genuine(world, late)),
    'request_unknown',
  );
});

const between: {
  name: string;
  reason: string;
  change: () => Promise<unknown>;
  undo: () => Promise<unknown>;
}[] = [
  {
    name: 'another certificate',
    reason: 'provider_changed',
    change: () =>
      changeDomain(home, {
        saml_x509_cert: [
          home.domain.saml_x509_cert,
          testIdentityProvider('other').certificate,
        ].join('\n'),
      }),
    undo: () => changeDomain(home, { saml_x509_cert: home.domain.saml_x509_cert }),
  },
  {
    name: 'no provider',
    reason: 'provider_changed',
    change: () => changeDomain(home, { saml_entity_id: null }),
    undo: () => changeDomain(home, { saml_entity_id: home.domain.saml_entity_id }),
  },
  {
    name: 'a domain that lapsed',
    reason: 'domain_not_verified',
    change: () =>
      world.harness.deps.db.run(
        sql`UPDATE domains SET state = 'lapsed' WHERE id = ${home.domain.id}`,
      ),
    undo: () =>
      world.harness.deps.db.run(
        sql`UPDATE domains SET state = 'verified' WHERE id = ${home.domain.id}`,
      ),
  },
];
for (const { name, reason, change, undo } of between) {
  test('a change during a sign-in ends it, before the response and after it: ' + name, async () => {
    const browser = newBrowser();
    const [early, late] = [await beginSaml(browser), await beginSaml(browser)];
    const taken = await postResponse(browser, genuine(world, late));
    await change();
    try {
      await assertRefused(
        world,
        browser,
        await postResponse(browser, genuine(world, early)),
        reason,
      );
      await assertRefused(world, browser, await browser.go(taken.headers['location']!), reason);
    } finally {
      await undo();
    }
    await assertStillOpen(world, browser, await beginSaml(browser));
  });
}

test('a domain that was deleted takes its sign-ins with it', async () => {
  const gone = await world.newHome({}, 'gone.example');
  const browser = newBrowser();
  const request = await beginSaml(browser, 'ada@gone.example');
  await gone.ask('DELETE', `/api/organizations/${gone.organization.id}/domains/${gone.domain.id}/`);
  await assertRefused(
    world,
    browser,
    await postResponse(browser, genuine(world, request, { email: 'ada@gone.example' })),
    'request_unknown',
  );
});
