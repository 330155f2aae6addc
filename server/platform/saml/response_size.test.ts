import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { countProcessorTime } from '../../../test/processor_time.ts';
import { inDepth } from '../../../test/depth.ts';
import { beginSignIn, change } from '../../../test/saml/forgery.ts';
import { encodeResponse } from '../../../test/saml/identity_provider.ts';
import { accept, now_ms, read } from '../../../test/saml/sign_ins.ts';
import { peekRequestId } from './response.ts';

test('256 KiB of anything are judged in linear time, before a signature is asked for', async () => {
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

test('whichever character of a genuine response changes, it is refused or the same', async () => {
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
    { numRuns: inDepth(100, 5_000) },
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
      Array.from({ length: 900 }, (_, index) => `xmlns:p${index}="u"`).join(' ') +
      `>${'<p0:a/>'.repeat(1_900)}</a>`,
    nesting: `${'<a b="c">'.repeat(26)}${'<a/>'.repeat(1_900)}${'</a>'.repeat(26)}`,
    text: 'x'.repeat(room),
    references: '&amp;'.repeat(room / 5),
  };
  for (const [name, filler] of Object.entries(fillers)) {
    const worked_ms = countProcessorTime();
    const answer = await read(
      world,
      change(
        world.response,
        '<samlp:Status>',
        `<samlp:Extensions>${filler}</samlp:Extensions><samlp:Status>`,
      ),
    );
    const took_ms = worked_ms();
    assert.ok('sign_in' in answer, `${name}: ${JSON.stringify(answer)}`);
    assert.ok(took_ms < 1_000, `${name}: ${took_ms} ms`);
  }
});
