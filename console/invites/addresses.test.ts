import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Violation } from '../../server/platform/http/errors.ts';
import { addressesIn, refusedAmong } from './addresses.ts';

test('addresses are found however they are pasted', () => {
  const cases: [string, string[]][] = [
    ['', []],
    [' \n,; ', []],
    ['a@x.com', ['a@x.com']],
    ['a@x.com, b@x.com;c@x.com\r\nd@x.com\te@x.com', 'abcde'.split('').map((n) => `${n}@x.com`)],
    ['Ada Lovelace <ada@x.com>, "B" <b@x.com>', ['ada@x.com', 'b@x.com']],
    ['A@x.com a@X.com', ['A@x.com']],
    ['not an address', ['not', 'an', 'address']],
    ['<>', []],
  ];
  for (const [text, addresses] of cases) assert.deepEqual(addressesIn(text), addresses, text);
});

test('a refused address is named, and other faults are not blamed on one', () => {
  const at = (attr: string | null): Violation => ({ attr, code: 'invalid_input', detail: 'No.' });
  const addresses = ['a@x.com', 'b@x.com'];
  assert.deepEqual(refusedAmong(addresses, [at('1__target_email')]), [
    { address: 'b@x.com', detail: 'No.' },
  ]);
  for (const attr of [null, '1__message', '7__target_email', 'target_email'])
    assert.equal(refusedAmong(addresses, [at('0__target_email'), at(attr)]), undefined, `${attr}`);
});
