import assert from 'node:assert/strict';
import { readResponse } from '../../server/platform/saml/response.ts';
import type { SignIn } from '../../server/platform/saml/response.ts';
import { beginSignIn } from './forgery.ts';
import type { SignInUnderWay } from './forgery.ts';
import { encodeResponse, signedResponse } from './identity_provider.ts';
import type { ResponseFacts } from './identity_provider.ts';

/** The instant of the tests' sign-ins. */
export const now_ms = Date.parse('2026-11-21T10:00:00Z');

/** Reads the text from a form. */
export const readEncoded = (world: SignInUnderWay, encoded: string) =>
  readResponse({ SAMLResponse: encoded }, world.provider, world.service, world.expectations);

/** Reads a response. */
export const read = (world: SignInUnderWay, xml: string) => readEncoded(world, encodeResponse(xml));

/** Returns the sign-in of a response, which must be accepted. */
export async function accept(world: SignInUnderWay, xml: string): Promise<SignIn> {
  const answer = await read(world, xml);
  assert.ok('sign_in' in answer, JSON.stringify(answer));
  return answer.sign_in;
}

/** Returns the sign-in of a genuine response with these facts. */
export const acceptFacts = (facts: Partial<ResponseFacts>) => {
  const world = beginSignIn(now_ms);
  return accept(world, signedResponse(world.acme, { ...world.facts, ...facts }));
};
