import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import {
  openDomainWorld,
  proofNameOf,
  proofOf,
} from '../../../../test/factories/people/domains.ts';

const world = aroundTests(openDomainWorld);

test('verify takes no body or an object; any other body is refused without DNS', async () => {
  const home = await world.harness.newOrganization();
  const domain = await world.claim(home);
  const path = `/api/organizations/${home.organization.id}/domains/${domain.id}/verify/`;
  for (const body of ['{', '[]', '"x"', 'null'])
    assert.equal((await home.ask('POST', path, body)).status, 400, body);
  assert.deepEqual(await world.read(home, domain), domain);
  assert.equal(
    world.resolvers[0]!.queries.filter(({ name }) => name === proofNameOf(domain)).length,
    0,
  );
  assert.equal((await home.ask('POST', path, {})).status, 200);
});

test('a domain deleted during its look-up is 404; validate_only keeps nothing', async () => {
  const home = await world.harness.newOrganization();
  const [dns] = world.resolvers;
  const [domain, other] = [await world.claim(home), await world.claim(home)];
  dns!.set(proofNameOf(domain), { records: [proofOf(domain)], delay_ms: 300 });
  const path = (id: string) => `/api/organizations/${home.organization.id}/domains/${id}/`;
  const seen = dns!.queries.length;
  const [verify] = await Promise.all([
    home.ask('POST', `${path(domain.id)}verify/`),
    (async () => {
      while (dns!.queries.length === seen) await new Promise(setImmediate);
      assert.equal((await home.ask('DELETE', path(domain.id))).status, 204);
    })(),
  ]);
  assert.equal(verify.status, 404);
  dns!.set(proofNameOf(other), { records: [proofOf(other)] });
  const dry = await home.ask('POST', `${path(other.id)}verify/?validate_only=true`);
  assert.deepEqual([dry.status, dry.body.is_verified], [200, true]);
  assert.deepEqual(await world.read(home, other), other);
});
