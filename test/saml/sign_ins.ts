import assert from 'node:assert/strict';
import { readResponse } from '../../server/platform/saml/response.ts';
import type { SignIn } from '../../server/platform/saml/response.ts';
import { beginSignIn } from './forgery.ts';
import type { SignInUnderWay } from './forgery.ts';
import { encodeResponse, signedResponse } from './identity_provider.ts';
import type { ResponseFacts } from './identity_provider.ts';

/** When the tests' sign-ins are under way. */
export const now_ms = Date.parse('2026-11-21T10:00:00Z');

/** What is made of the text that a form brings. */
export const readEncoded = (world: SignInUnderWay, encoded: string) =>
  readResponse({ SAMLResponse: encoded }, world.provider, world.service, world.expectations);

/** What is made of a response. */
export const read = (world: SignInUnderWay, xml: string) => readEncoded(world, encodeResponse(xml));

/** Whom a response signs in; it must. */
export async function accept(world: SignInUnderWay, xml: string): Promise<SignIn> {
  const answer = await read(world, xml);
  assert.ok('sign_in' in answer, JSON.stringify(answer));
  return answer.sign_in;
}

/** Whom a genuine response with these facts signs in. */
export const acceptFacts = (facts: Partial<ResponseFacts>) => {
  const world = beginSignIn(now_ms);
  return accept(world, signedResponse(world.acme, { ...world.facts, ...facts }));
};
