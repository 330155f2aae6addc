import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTotpSecret, stepOfCode, totpUrl } from './totp.ts';

/**
 * The seed of the test vectors of RFC 6238 (SHA-1), in base 32; the last six of their eight digits.
 */
const seed = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const vectors: [number, string][] = [
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
  [20000000000, '353130'],
];

test('the codes are those of RFC 6238', () => {
  for (const [seconds, code] of vectors)
    assert.equal(stepOfCode(seed, code, seconds * 1000), Math.floor(seconds / 30), code);
});

test('a code counts in its own step, the one before and after, under its own number', () => {
  const [seconds, code] = vectors[3]!;
  const step = Math.floor(seconds / 30);
  for (const [shift, wanted] of [
    [-60, undefined],
    [-30, step],
    [0, step],
    [30, step],
    [60, undefined],
  ] as const)
    assert.equal(stepOfCode(seed, code, (seconds + shift) * 1000), wanted, `${shift} s`);
});

test('a foreign code is refused', () => {
  for (const code of [
    '',
    '0',
    '05924',
    '0059240',
    '00592a',
    'ABCDEFGHIJ',
    '٠٠٥٩٢٤',
    ' 005924',
    '-05924',
  ])
    assert.equal(stepOfCode(seed, code, 1234567890_000), undefined, code);
});

test('a new seed has 160 bits, and its address says everything an app needs', () => {
  const [one, two] = [createTotpSecret(), createTotpSecret()];
  assert.match(one, /^[A-Z2-7]{32}$/);
  assert.notEqual(one, two);
  const url = new URL(totpUrl(one, 'a+b@example.com'));
  assert.equal(url.protocol, 'otpauth:');
  assert.match(url.href, /^otpauth:\/\/totp\/Sluice:a%2Bb%40example\.com\?/);
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    issuer: 'Sluice',
    secret: one,
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  });
});
