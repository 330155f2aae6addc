import type { Expectations } from '../../server/platform/saml/assertion.ts';
import type { Provider, Service } from '../../server/platform/saml/parties.ts';
import type { RefusalCode } from '../../server/platform/saml/refusal.ts';
import {
  assertionXml,
  responseFacts,
  responseXml,
  signXml,
  signedResponse,
  testIdentityProvider,
} from './identity_provider.ts';
import type { IdentityProvider, ResponseFacts, SigningOptions } from './identity_provider.ts';

/** The material of a forger: a sign-in in progress, and genuine answers to it. */
export type SignInUnderWay = {
  acme: IdentityProvider;
  other: IdentityProvider;
  provider: Provider;
  service: Service;
  expectations: Expectations;
  /** The facts of the genuine response, and the facts that the forger wants. */
  facts: ResponseFacts;
  evil: ResponseFacts;
  /** The genuine signed assertion alone, in its response, and in a response that is signed too. */
  assertion: string;
  response: string;
  signed_response: string;
};

/** A response that must be refused with this code, as XML. */
export type Forgery = {
  name: string;
  refused: RefusalCode;
  create: (world: SignInUnderWay) => string;
};

/**
 * A sign-in of ada@acme.example in progress, with new ids, or the one of this request to the
 * provider. The forger wants to be root@acme.example.
 */
export function beginSignIn(
  now_ms: number,
  asked?: { id: string; acs_url: string; issuer: string },
): SignInUnderWay {
  const [acme, other] = [testIdentityProvider('acme'), testIdentityProvider('other')];
  const request = asked ?? {
    id: `_${crypto.randomUUID()}`,
    acs_url: 'https://sluice.example/complete/saml/',
    issuer: 'https://sluice.example/saml/metadata/',
  };
  const service = { entity_id: request.issuer, acs_url: request.acs_url };
  const facts = responseFacts(acme, request, { email: 'ada@acme.example' }, now_ms);
  // A signature takes ten milliseconds, and most forgers need one of the three texts.
  let assertion: string | undefined;
  let signed_response: string | undefined;
  const signed = () => (assertion ??= signXml(assertionXml(facts), facts.assertion_id, acme));
  return {
    acme,
    other,
    provider: {
      entity_id: acme.entity_id,
      sso_url: acme.sso_url,
      certificates: [acme.certificate],
      email_domain: 'acme.example',
    },
    service,
    expectations: { request_id: request.id, now_ms, skew_ms: 180_000 },
    facts,
    evil: {
      ...responseFacts(acme, request, { email: 'root@acme.example' }, now_ms),
      assertion_id: '_evil',
      response_id: '_evil_response',
    },
    get assertion() {
      return signed();
    },
    get response() {
      return responseXml(facts, signed());
    },
    get signed_response() {
      return (signed_response ??= signedResponse(acme, facts, { is_response_signed: true }));
    },
  };
}

/**
 * Replaces the first occurrence of the searched part. Throws without one, so that a forgery is
 * never the genuine response by mistake.
 */
export function change(text: string, wanted: string | RegExp, replacement: string): string {
  const changed = text.replace(wanted, () => replacement);
  if (changed === text) throw new Error(`There is no ${String(wanted)} to change.`);
  return changed;
}

const signature = /<ds:Signature [\s\S]*?<\/ds:Signature>/;

/** The first Signature element of the text. */
export function signatureOf(text: string): string {
  return signature.exec(text)![0];
}

/** The text without its first Signature element. */
export function withoutSignature(text: string): string {
  return change(text, signature, '');
}

/** Returns the assertion with the XML inserted after its Issuer, where its signature belongs. */
export function behindIssuer(assertion: string, xml: string): string {
  return change(assertion, '</saml:Issuer>', `</saml:Issuer>${xml}`);
}

/** Returns the genuine response with this change. */
export const changed = (wanted: string | RegExp, replacement: string) => (world: SignInUnderWay) =>
  change(world.response, wanted, replacement);

/** Signed by the right key, but with these facts instead of the genuine ones. */
export const claiming =
  (facts: Partial<ResponseFacts> | ((world: SignInUnderWay) => Partial<ResponseFacts>)) =>
  (world: SignInUnderWay) =>
    signedResponse(world.acme, {
      ...world.facts,
      ...(typeof facts === 'function' ? facts(world) : facts),
    });

/** Signed by the right key, after this change of the assertion. */
export const writing = (wanted: string | RegExp, replacement: string) => (world: SignInUnderWay) =>
  responseXml(
    world.facts,
    signXml(
      change(assertionXml(world.facts), wanted, replacement),
      world.facts.assertion_id,
      world.acme,
    ),
  );

/** The attacker's assertion, unsigned. */
export const evilAssertion = (world: SignInUnderWay) => assertionXml(world.evil);

/** The genuine response around these assertions instead of its own. */
export const around = (world: SignInUnderWay, assertions: string) =>
  responseXml(world.facts, assertions);

/** The attacker's assertion in its own response. */
export const evilResponse = (world: SignInUnderWay) =>
  responseXml(world.evil, evilAssertion(world));

/** The attacker's assertion with the genuine signature in it, changed. */
export const withGenuine = (
  world: SignInUnderWay,
  edit: (signature: string) => string,
  facts = world.evil,
) => behindIssuer(assertionXml(facts), edit(signatureOf(world.assertion)));

/** Signed by the right key, but in this way. */
export const signedSo = (options: SigningOptions) => (world: SignInUnderWay) =>
  signedResponse(world.acme, world.facts, options);
