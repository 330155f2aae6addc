import { forged_nesting } from './forged_nesting.ts';
import {
  around,
  behindIssuer,
  change,
  evilAssertion,
  evilResponse,
  signatureOf,
  withGenuine,
  withoutSignature,
} from './forgery.ts';
import type { Forgery, SignInUnderWay } from './forgery.ts';
import { assertionXml, responseXml } from './identity_provider.ts';

const same_id = ({ evil, facts }: SignInUnderWay) => ({
  ...evil,
  assertion_id: facts.assertion_id,
  response_id: facts.response_id,
});
const object = (xml: string) => `<ds:Object>${xml}</ds:Object>`;
const intoSignature = (signature: string, xml: string) =>
  change(signature, '</ds:Signature>', `${xml}</ds:Signature>`);

/**
 * The eight classes of signature wrapping of Somorovsky et al., "On Breaking SAML: Be Whoever You
 * Want to Be" (2012), and later wrappings. The classes have the numbers of attack tools, each also
 * with the identifier of the genuine element. The genuine assertion stays valid in each; only its
 * place differs.
 */
export const forged_wrappings: Forgery[] = [
  {
    name: 'XSW1: an evil Response around the signature, the genuine Response in an Object of it',
    refused: 'assertion_count',
    create: (world) =>
      behindIssuer(
        evilResponse(world),
        intoSignature(
          signatureOf(world.signed_response),
          object(withoutSignature(world.signed_response)),
        ),
      ),
  },
  {
    name: 'XSW1 with the genuine Response directly in the signature',
    refused: 'assertion_count',
    create: (world) =>
      behindIssuer(
        evilResponse(world),
        intoSignature(signatureOf(world.signed_response), withoutSignature(world.signed_response)),
      ),
  },
  {
    name: 'XSW1 with the same ID',
    refused: 'duplicate_id',
    create: (world) =>
      behindIssuer(
        responseXml(same_id(world), evilAssertion(world)),
        intoSignature(
          signatureOf(world.signed_response),
          object(withoutSignature(world.signed_response)),
        ),
      ),
  },
  {
    name: 'XSW2: an evil Response, the genuine one beside its detached signature',
    refused: 'not_a_response',
    create: (world) =>
      behindIssuer(
        evilResponse(world),
        withoutSignature(world.signed_response) + signatureOf(world.signed_response),
      ),
  },
  {
    name: 'XSW2 with the signature first',
    refused: 'not_a_response',
    create: (world) =>
      behindIssuer(
        evilResponse(world),
        signatureOf(world.signed_response) + withoutSignature(world.signed_response),
      ),
  },
  {
    name: 'XSW3: an evil assertion before the genuine one',
    refused: 'assertion_count',
    create: (world) => around(world, evilAssertion(world) + world.assertion),
  },
  {
    name: 'XSW3 with the evil assertion behind',
    refused: 'assertion_count',
    create: (world) => around(world, world.assertion + evilAssertion(world)),
  },
  {
    name: 'XSW3 with the same ID',
    refused: 'duplicate_id',
    create: (world) => around(world, assertionXml(same_id(world)) + world.assertion),
  },
  {
    name: 'XSW3 in the response that is signed too',
    refused: 'assertion_count',
    create: (world) =>
      change(world.signed_response, '</samlp:Status>', `</samlp:Status>${evilAssertion(world)}`),
  },
  {
    name: 'XSW4: the genuine assertion as a child of an evil one',
    refused: 'assertion_count',
    create: (world) =>
      around(
        world,
        change(evilAssertion(world), '</saml:Assertion>', `${world.assertion}</saml:Assertion>`),
      ),
  },
  {
    name: 'XSW4 with the same ID',
    refused: 'duplicate_id',
    create: (world) =>
      around(
        world,
        change(
          assertionXml(same_id(world)),
          '</saml:Assertion>',
          `${world.assertion}</saml:Assertion>`,
        ),
      ),
  },
  {
    name:
      'XSW5: the genuine signature in an evil assertion, the genuine assertion without it at ' +
      'the end',
    refused: 'assertion_count',
    create: (world) =>
      around(
        world,
        withGenuine(world, (signature) => signature) + withoutSignature(world.assertion),
      ),
  },
  {
    name: 'XSW5 with the genuine assertion first',
    refused: 'assertion_count',
    create: (world) =>
      around(
        world,
        withoutSignature(world.assertion) + withGenuine(world, (signature) => signature),
      ),
  },
  {
    name: 'XSW6: the genuine assertion in the signature that stands in an evil one',
    refused: 'assertion_count',
    create: (world) =>
      around(
        world,
        withGenuine(world, (signature) =>
          intoSignature(signature, withoutSignature(world.assertion)),
        ),
      ),
  },
  {
    name: 'XSW6 with the same ID',
    refused: 'duplicate_id',
    create: (world) =>
      around(
        world,
        withGenuine(
          world,
          (signature) => intoSignature(signature, withoutSignature(world.assertion)),
          same_id(world),
        ),
      ),
  },
  {
    name: 'XSW7: the genuine assertion in Extensions, an evil one in its place',
    refused: 'not_a_response',
    create: (world) =>
      responseXml(
        { ...world.facts, after_status: `<samlp:Extensions>${world.assertion}</samlp:Extensions>` },
        evilAssertion(world),
      ),
  },
  {
    name: 'XSW7 with Extensions where they may stand',
    refused: 'assertion_count',
    create: (world) =>
      behindIssuer(
        around(world, evilAssertion(world)),
        `<samlp:Extensions>${world.assertion}</samlp:Extensions>`,
      ),
  },
  {
    name: 'XSW7 with the evil assertion in Extensions',
    refused: 'assertion_count',
    create: (world) =>
      behindIssuer(world.response, `<samlp:Extensions>${evilAssertion(world)}</samlp:Extensions>`),
  },
  {
    name: 'XSW7 with the same ID',
    refused: 'duplicate_id',
    create: (world) =>
      behindIssuer(
        around(world, assertionXml(same_id(world))),
        `<samlp:Extensions>${world.assertion}</samlp:Extensions>`,
      ),
  },
  {
    name: 'XSW8: the genuine assertion in an Object of the signature that stands in an evil one',
    refused: 'assertion_count',
    create: (world) =>
      around(
        world,
        withGenuine(world, (signature) =>
          intoSignature(signature, object(withoutSignature(world.assertion))),
        ),
      ),
  },
  {
    name: 'XSW8 with the same ID',
    refused: 'duplicate_id',
    create: (world) =>
      around(
        world,
        withGenuine(
          world,
          (signature) => intoSignature(signature, object(withoutSignature(world.assertion))),
          same_id(world),
        ),
      ),
  },
  ...forged_nesting,
];
