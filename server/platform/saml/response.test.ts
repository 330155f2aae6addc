import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { beginSignIn, change } from '../../../test/saml/forgery.ts';
import type { SignInUnderWay } from '../../../test/saml/forgery.ts';
import {
  assertionXml,
  encodeResponse,
  readTestCertificate,
  responseXml,
  signXml,
  signedResponse,
} from '../../../test/saml/identity_provider.ts';
import type { ResponseFacts } from '../../../test/saml/identity_provider.ts';
import { peekRequestId, readResponse } from './response.ts';
import type { SignIn } from './response.ts';

const now_ms = Date.parse('2026-11-21T10:00:00Z');
const minute_ms = 60_000;
const at = (offset_ms: number) => new Date(now_ms + offset_ms).toISOString();
const sha512 = {
  signature_algorithm: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  digest_algorithm: 'http://www.w3.org/2001/04/xmlenc#sha512',
};

const readEncoded = (world: SignInUnderWay, encoded: string) =>
  readResponse({ SAMLResponse: encoded }, world.provider, world.service, world.expectations);
const read = (world: SignInUnderWay, xml: string) => readEncoded(world, encodeResponse(xml));

async function accept(world: SignInUnderWay, xml: string): Promise<SignIn> {
  const answer = await read(world, xml);
  assert.ok('sign_in' in answer, JSON.stringify(answer));
  return answer.sign_in;
}

const acceptFacts = (facts: Partial<ResponseFacts>) => {
  const world = beginSignIn(now_ms);
  return accept(world, signedResponse(world.acme, { ...world.facts, ...facts }));
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

test('what providers differ in is accepted', async () => {
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
        'Name="x"><saml:AttributeValue><saml:NameID>y</saml:NameID></saml:AttributeValue></saml:Attribute></saml:AttributeStatement>',
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

test('while certificates are exchanged, any of the configured ones verifies, an expired one too', async () => {
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

test('256 KiB of anything are judged in the time of their length, before a signature is asked for', async () => {
  const world = beginSignIn(now_ms);
  const many = 190_000;
  const names: Record<string, string> = {
    'a name that never ends': `<${'a'.repeat(many)}`,
    'a tag that never ends': `<a${' '.repeat(many)}`,
    'quotes that never end': `<a${'""'.repeat(many / 2)}`,
    'tags that never end': '<a '.repeat(many / 3),
    ampersands: `<a>${'&'.repeat(many)}</a>`,
    'white space in the Issuer': change(
      world.response,
      '</saml:Issuer>',
      `x${' '.repeat(many)}x</saml:Issuer>`,
    ),
    'white space in the SignatureValue': change(
      world.response,
      '<ds:SignatureValue>',
      `<ds:SignatureValue>${' '.repeat(many)}`,
    ),
    'a list of prefixes': change(
      world.response,
      /(?<=xml-exc-c14n#")\/>(?=<\/ds:Transforms>)/,
      '><ec:InclusiveNamespaces xmlns:ec="http://www.w3.org/2001/10/xml-exc-c14n#" ' +
        `PrefixList="${'ab '.repeat(many / 3)}"/></ds:Transform>`,
    ),
  };
  for (const [name, xml] of Object.entries(names)) {
    const begun = performance.now();
    peekRequestId({ SAMLResponse: encodeResponse(xml) });
    await read(world, xml);
    const took_ms = performance.now() - begun;
    // Tens of milliseconds; with the square of the length it would be a minute and more.
    assert.ok(took_ms < 5_000, `${name}: ${took_ms} ms`);
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

test('the address is found under the names that providers use, in any case, else in the NameID', async () => {
  const names = [
    'email',
    'Email',
    'mail',
    'User.email',
    'emailAddress',
    'urn:oid:0.9.2342.19200300.100.1.3',
    'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
  ];
  for (const name of names)
    assert.equal(
      (
        await acceptFacts({
          attributes: { [name]: ' Ada@ACME.example ' },
          name_id: 'x',
          name_id_format: 'urn:x',
        })
      ).email,
      'ada@acme.example',
      name,
    );
  assert.equal((await acceptFacts({ attributes: {} })).email, 'ada@acme.example');
  assert.equal(
    (
      await acceptFacts({
        attributes: { email: 'ada@acme.example', mail: 'ADA@acme.example' },
        name_id: 'root@acme.example',
      })
    ).email,
    'ada@acme.example',
  );
});

test('names are one line each, and are absent when the provider says none', async () => {
  const signIn = await acceptFacts({
    attributes: {
      email: 'ada@acme.example',
      givenName: 'Ada\u202e\nAugusta',
      sn: '\u{1f600}'.repeat(200),
    },
  });
  assert.deepEqual(
    [signIn.first_name, signIn.last_name],
    ['Ada  Augusta', '\u{1f600}'.repeat(150)],
  );
  assert.ok(!('first_name' in (await acceptFacts({ attributes: {} }))));
});

test('attributes with names of JavaScript are attributes like others', async () => {
  const { attributes } = await acceptFacts({
    attributes: { ['__proto__']: 'a', constructor: 'b', email: 'ada@acme.example' },
  });
  assert.deepEqual(Object.entries(attributes), [
    ['__proto__', ['a']],
    ['constructor', ['b']],
    ['email', ['ada@acme.example']],
  ]);
  assert.equal(Object.getPrototypeOf(attributes), Object.prototype);
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

test('whichever character of a genuine response is changed, it is refused or says the same', async () => {
  const world = beginSignIn(now_ms);
  const genuine = await accept(world, world.response);
  await fc.assert(
    fc.asyncProperty(
      fc.nat(world.response.length - 1),
      fc.constantFrom('', 'a', 'A', '0', ' ', '<', '>', '&', '"', '/', '\n', '\u0000'),
      async (index, character) => {
        const answer = await read(
          world,
          world.response.slice(0, index) + character + world.response.slice(index + 1),
        );
        if ('sign_in' in answer) assert.deepEqual(answer.sign_in, genuine);
      },
    ),
    { numRuns: 400 },
  );
});

test('the largest response that is looked at takes less than a second', async () => {
  const world = beginSignIn(now_ms);
  const room = 262_144 - Buffer.byteLength(world.response) - 100;
  const fillers: Record<string, string> = {
    elements: '<a/>'.repeat(1_900),
    attributes: `<a ${Array.from({ length: 4_900 }, (_, index) => `a${index}=""`).join(' ')}/>`,
    namespaces:
      '<a ' +
      `${Array.from({ length: 900 }, (_, index) => `xmlns:p${index}="u"`).join(' ')}>${'<p0:a/>'.repeat(1_900)}</a>`,
    nesting: `${'<a b="c">'.repeat(26)}${'<a/>'.repeat(1_900)}${'</a>'.repeat(26)}`,
    text: 'x'.repeat(room),
    references: '&amp;'.repeat(room / 5),
  };
  for (const [name, filler] of Object.entries(fillers)) {
    const started = performance.now();
    const answer = await read(
      world,
      change(
        world.response,
        '<samlp:Status>',
        `<samlp:Extensions>${filler}</samlp:Extensions><samlp:Status>`,
      ),
    );
    const took_ms = performance.now() - started;
    assert.ok('sign_in' in answer, `${name}: ${JSON.stringify(answer)}`);
    assert.ok(took_ms < 1_000, `${name}: ${took_ms} ms`);
  }
});

test(
  'the same response is accepted again: that it is used once is for the caller, by assertion ' +
    'and by request',
  async () => {
    const world = beginSignIn(now_ms);
    const [first, second] = [
      await accept(world, world.response),
      await accept(world, world.response),
    ];
    assert.equal(first.assertion_id, second.assertion_id);
  },
);
