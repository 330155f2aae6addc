import assert from 'node:assert/strict';
import { test } from 'node:test';
import { is_deep } from '../../../test/depth.ts';
import { forged_claims } from '../../../test/saml/forged_claims.ts';
import { forged_documents } from '../../../test/saml/forged_documents.ts';
import { forged_signatures } from '../../../test/saml/forged_signatures.ts';
import { forged_wrappings } from '../../../test/saml/forged_wrapping.ts';
import { beginSignIn } from '../../../test/saml/forgery.ts';
import { encodeResponse } from '../../../test/saml/identity_provider.ts';
import { readResponse } from './response.ts';

const now_ms = Date.parse('2026-11-21T10:00:00Z');
const world = beginSignIn(now_ms);
const read = (xml: string) =>
  readResponse(
    { SAMLResponse: encodeResponse(xml) },
    world.provider,
    world.service,
    world.expectations,
  );
const forgeries = [
  ...forged_wrappings,
  ...forged_signatures,
  ...forged_documents,
  ...forged_claims,
];

/** The responses that forgeries are made from are accepted, so what is refused is the forgery. */
async function assertGenuine(): Promise<void> {
  for (const genuine of [world.response, world.signed_response]) {
    const accepted = await read(genuine);
    assert.ok('sign_in' in accepted, JSON.stringify(accepted));
    assert.equal(accepted.sign_in.email, 'ada@acme.example');
  }
}

test('the genuine responses are accepted', assertGenuine);

test('there are at least 100 forged responses, each with a name of its own', () => {
  assert.ok(forgeries.length >= 100, String(forgeries.length));
  assert.equal(new Set(forgeries.map(({ name }) => name)).size, forgeries.length);
});

for (const { name, refused, create } of forgeries) {
  test(`refused as ${refused}: ${name}`, async () => {
    const answer = await read(create(world));
    assert.ok('refused' in answer, 'it was accepted');
    assert.equal(answer.refused, refused, answer.detail);
    // Fit for one line of a log, whatever was in the response.
    assert.match(answer.detail, /^[\u0020-\u007e]{10,400}$/);
    if (is_deep) await assertGenuine();
  });
}

test('the genuine responses still pass after all of them', assertGenuine);
