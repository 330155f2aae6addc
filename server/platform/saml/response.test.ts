import assert from 'node:assert/strict';
import { test } from 'node:test';
import { beginSignIn, change } from '../../../test/saml/forgery.ts';
import {
  assertionXml,
  encodeResponse,
  readTestCertificate,
  responseXml,
  signXml,
  signedResponse,
} from '../../../test/saml/identity_provider.ts';
import { accept, acceptFacts, now_ms, read, readEncoded } from '../../../test/saml/sign_ins.ts';
import { peekRequestId } from './response.ts';

const minute_ms = 60_000;
const at = (offset_ms: number) => new Date(now_ms + offset_ms).toISOString();
const sha512 = {
  signature_algorithm: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  digest_algorithm: 'http://www.w3.org/2001/04/xmlenc#sha512',
};

test('a genuine response gives the person, the assertion and its ends', async () => {
  const world = beginSignIn(now_ms);
  assert.deepEqual(await accept(world, world.response), {
    assertion_id: world.facts.assertion_id,
    name_id: 'ada@acme.example',
    email: 'ada@acme.example',
    first_name: 'Ada',
    last_name: 'Lovelace',
    attributes: { email: ['ada@acme.example'], first_name: ['Ada'], last_name: ['Lovelace'] },
    not_on_or_after_ms: now_ms + 5 * minute_ms,
    session_not_on_or_after_ms: now_ms + 480 * minute_ms,
  });
});

test('the reader accepts the differences between providers', async () => {
  const world = beginSignIn(now_ms);
  const { acme, facts } = world;
  const rewritten = (wanted: string | RegExp, replacement: string) =>
    responseXml(
      facts,
      signXml(change(assertionXml(facts), wanted, replacement), facts.assertion_id, acme),
    );
  const genuine: Record<string, string> = {
    'RSA with SHA-512': signedResponse(acme, facts, sha512),
    'RSA-PSS': signedResponse(acme, facts, {
      signature_algorithm: 'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
    }),
    'no KeyInfo': signedResponse(acme, facts, { key_info: '' }),
    'a foreign certificate in KeyInfo': signedResponse(acme, facts, {
      key_info: '<ds:KeyName>other</ds:KeyName>',
    }),
    'the response signed too': world.signed_response,
    'an XML declaration': `<?xml version="1.0" encoding="UTF-8"?>\n${world.response}\n`,
    'line ends of Windows': change(world.response, '</samlp:Status>', '</samlp:Status>\r\n'),
    'no Destination on an unsigned response': signedResponse(acme, {
      ...facts,
      destination: undefined,
    }),
    'no Issuer on the response': signedResponse(acme, { ...facts, response_issuer: undefined }),
    'no end of the session': signedResponse(acme, { ...facts, session_not_on_or_after: undefined }),
    'OneTimeUse and a restriction for proxies': rewritten(
      '</saml:Conditions>',
      '<saml:OneTimeUse/><saml:ProxyRestriction/></saml:Conditions>',
    ),
    'several audiences with ours among them': rewritten(
      '<saml:Audience>',
      '<saml:Audience>https://other.example/</saml:Audience><saml:Audience>',
    ),
    'a confirmation of another method beside the bearer': rewritten(
      '</saml:Subject>',
      '<saml:SubjectConfirmation Method="urn:x"/></saml:Subject>',
    ),
    'white space and line breaks between and in elements': rewritten(
      '<saml:Issuer>',
      '\n  <saml:Issuer>\n    ',
    ),
    'an attribute whose value is XML': rewritten(
      '</saml:AttributeStatement>',
      '<saml:Attribute ' +
        'Name="x"><saml:AttributeValue><saml:NameID>y</saml:NameID></saml:AttributeValue>' +
        '</saml:Attribute></saml:AttributeStatement>',
    ),
    'an attribute without a value': rewritten(
      '</saml:AttributeStatement>',
      '<saml:Attribute Name="mail"/></saml:AttributeStatement>',
    ),
    Extensions: change(
      world.response,
      '<samlp:Status>',
      '<samlp:Extensions><a/></samlp:Extensions><samlp:Status>',
    ),
  };
  for (const [name, xml] of Object.entries(genuine)) {
    const answer = await read(world, xml);
    assert.ok(
      'sign_in' in answer && answer.sign_in.email === 'ada@acme.example',
      `${name}: ${JSON.stringify(answer)}`,
    );
  }
});

test('while certificates are exchanged any configured one verifies, an expired too', async () => {
  const world = beginSignIn(now_ms);
  const { acme, other, provider } = world;
  for (const [certificates, is_accepted] of [
    [[acme.certificate, other.certificate], true],
    [[other.certificate, acme.certificate], true],
    [[readTestCertificate('saml_expired.crt')], true],
    [[other.certificate], false],
  ] as const) {
    const answer = await read(
      { ...world, provider: { ...provider, certificates: [...certificates] } },
      world.response,
    );
    assert.equal('sign_in' in answer, is_accepted);
  }
});

test('a clock may be up to 3 minutes off', async () => {
  await acceptFacts({ not_on_or_after: at(-3 * minute_ms + 1) });
  await acceptFacts({ confirmed_not_on_or_after: at(-3 * minute_ms + 1) });
  await acceptFacts({ session_not_on_or_after: at(-3 * minute_ms + 1) });
  await acceptFacts({ not_before: at(3 * minute_ms), issued_at: at(3 * minute_ms) });
});

test('the assertion ends with the earlier of its two ends', async () => {
  assert.equal(
    (await acceptFacts({ not_on_or_after: at(minute_ms) })).not_on_or_after_ms,
    now_ms + minute_ms,
  );
  assert.equal(
    (await acceptFacts({ confirmed_not_on_or_after: at(minute_ms) })).not_on_or_after_ms,
    now_ms + minute_ms,
  );
});

test('the field has to be base64; only line breaks may be in it', async () => {
  const world = beginSignIn(now_ms);
  const encoded = encodeResponse(world.response);
  assert.ok('sign_in' in (await readEncoded(world, encoded.replaceAll(/.{76}/g, '$&\r\n'))));
  const bad = {
    '': 'not_base64',
    '!': 'not_base64',
    [`${encoded}!`]: 'not_base64',
    [` ${encoded}`]: 'not_base64',
    [`${encoded}AA==AA==`]: 'not_base64',
  };
  for (const [text, code] of Object.entries(bad))
    assert.equal(
      ((await readEncoded(world, text)) as { refused: string }).refused,
      code,
      text.slice(-20),
    );
  assert.equal(
    (
      (await readEncoded(world, Buffer.from([0x3c, 0xff, 0x3e]).toString('base64'))) as {
        refused: string;
      }
    ).refused,
    'not_xml',
  );
  assert.equal(
    ((await readEncoded(world, 'A'.repeat(400_000))) as { refused: string }).refused,
    'too_large',
  );
});

test('the id of the request is seen before anything is verified, and nothing else is', () => {
  const world = beginSignIn(now_ms);
  const peek = (xml: string) => peekRequestId({ SAMLResponse: encodeResponse(xml) });
  assert.deepEqual(peek(world.response), { request_id: world.expectations.request_id });
  for (const [xml, code] of [
    [responseXml({ ...world.facts, in_response_to: undefined }, ''), 'in_response_to'],
    [responseXml({ ...world.facts, in_response_to: "_' or 1=1" }, ''), 'in_response_to'],
    [responseXml({ ...world.facts, in_response_to: `_${'x'.repeat(256)}` }, ''), 'in_response_to'],
    ['<!DOCTYPE a><a/>', 'markup'],
    ['<a InResponseTo="_1"/>', 'not_a_response'],
  ] as const) {
    const answer = peek(xml);
    assert.equal('refused' in answer && answer.refused, code, xml.slice(0, 60));
  }
});

test('the reader accepts a response again; the caller keeps it to one use', async () => {
  const world = beginSignIn(now_ms);
  const [first, second] = [
    await accept(world, world.response),
    await accept(world, world.response),
  ];
  assert.equal(first.assertion_id, second.assertion_id);
});
