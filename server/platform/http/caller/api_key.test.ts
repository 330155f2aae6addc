import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWellFormedApiKey, createApiKey, maskApiKey } from './api_key.ts';

test('a new key is slk_, 43 and 6 base-62 characters, and well-formed', () => {
  for (let count = 0; count < 1000; count += 1) {
    const key = createApiKey();
    assert.match(key, /^slk_[0-9A-Za-z]{49}$/);
    assert.ok(isWellFormedApiKey(key));
  }
});

test('the checksum is the CRC-32 of the 43 characters in base 62', () => {
  const zeros = '0'.repeat(43);
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  let crc = 0xffffffff;
  for (const character of zeros) {
    crc ^= character.charCodeAt(0);
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  let rest = (crc ^ 0xffffffff) >>> 0;
  let checksum = '';
  for (let place = 0; place < 6; place += 1) {
    checksum = digits[rest % 62]! + checksum;
    rest = Math.floor(rest / 62);
  }
  assert.ok(isWellFormedApiKey(`slk_${zeros}${checksum}`));
});

test('every changed character, another prefix and another length are refused', () => {
  const key = createApiKey();
  for (let at = 4; at < key.length; at += 1) {
    const other = key[at] === 'a' ? 'b' : 'a';
    assert.equal(
      isWellFormedApiKey(key.slice(0, at) + other + key.slice(at + 1)),
      false,
      `position ${at}`,
    );
  }
  for (const wrong of [
    '',
    'slk_',
    key.slice(0, -1),
    `${key}0`,
    key.replace('slk_', 'phx_'),
    `${key}\n`,
  ])
    assert.equal(isWellFormedApiKey(wrong), false);
});

test('a masked key shows its first and last four characters', () => {
  const key = createApiKey();
  assert.equal(maskApiKey(key), `slk_...${key.slice(-4)}`);
});
