import {
  around,
  change,
  evilAssertion,
  evilResponse,
  withGenuine,
  withoutSignature,
} from './forgery.ts';
import type { Forgery } from './forgery.ts';
import { xml_names } from './identity_provider.ts';

/** Wrappings that are newer than the eight classes: the genuine assertion in other elements. */
export const forged_nesting: Forgery[] = [
  {
    name: 'the genuine assertion in the KeyInfo of the signature that stands in an evil one',
    refused: 'assertion_count',
    create: (world) =>
      around(
        world,
        withGenuine(world, (signature) =>
          change(signature, '</ds:KeyInfo>', `${withoutSignature(world.assertion)}</ds:KeyInfo>`),
        ),
      ),
  },
  {
    name: 'the genuine assertion in the Advice of an evil one',
    refused: 'assertion_count',
    create: (world) =>
      around(
        world,
        change(
          evilAssertion(world),
          '</saml:Conditions>',
          `</saml:Conditions><saml:Advice>${world.assertion}</saml:Advice>`,
        ),
      ),
  },
  {
    name: 'the genuine assertion in an attribute value of an evil one',
    refused: 'assertion_count',
    create: (world) =>
      around(
        world,
        change(
          evilAssertion(world),
          '<saml:AttributeValue>',
          `<saml:AttributeValue>${world.assertion}`,
        ),
      ),
  },
  {
    name: 'the genuine assertion in the details of the status',
    refused: 'assertion_count',
    create: (world) =>
      change(
        around(world, evilAssertion(world)),
        '</samlp:Status>',
        `<samlp:StatusDetail>${world.assertion}</samlp:StatusDetail></samlp:Status>`,
      ),
  },
  {
    name: 'the genuine response inside an evil one',
    refused: 'not_a_response',
    create: (world) =>
      change(evilResponse(world), '</samlp:Response>', `${world.response}</samlp:Response>`),
  },
  {
    name: 'the genuine response inside an element of another name',
    refused: 'not_a_response',
    create: (world) => `<a>${world.response}</a>`,
  },
  {
    name: 'the genuine response inside an ArtifactResponse',
    refused: 'not_a_response',
    create: (world) =>
      '<samlp:ArtifactResponse ' +
      `xmlns:samlp="${xml_names.samlp}">${world.response}</samlp:ArtifactResponse>`,
  },
  {
    name: 'an evil assertion of another namespace beside the genuine one',
    refused: 'not_a_response',
    create: (world) =>
      around(world, change(evilAssertion(world), xml_names.saml, 'urn:evil') + world.assertion),
  },
  {
    name: 'the genuine assertion below an element between it and the Response',
    refused: 'not_a_response',
    create: (world) =>
      around(world, `<saml:Advice xmlns:saml="${xml_names.saml}">${world.assertion}</saml:Advice>`),
  },
  {
    name: 'a second Response with the evil assertion behind the genuine one',
    refused: 'not_xml',
    create: (world) => world.response + evilResponse(world),
  },
];
