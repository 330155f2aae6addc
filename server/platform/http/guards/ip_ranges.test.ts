import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isInRanges, isIpRange } from './ip_ranges.ts';

test('texts that are ranges', () => {
  for (const right of [
    '203.0.113.7',
    '203.0.113.0/24',
    '0.0.0.0/0',
    '2001:db8::/32',
    '2001:db8::1',
    '::/0',
    '::ffff:203.0.113.0/120',
  ])
    assert.equal(isIpRange(right), true, right);
  for (const wrong of [
    '',
    '203.0.113.0/33',
    '203.0.113.0/-1',
    '203.0.113.0/24/8',
    '203.0.113.0/',
    '203.0.113',
    '0x7f.1',
    '010.0.0.1',
    '2001:db8::/129',
    'fe80::%eth0/64',
    'example.com',
    '203.0.113.0 /24',
    '*',
  ])
    assert.equal(isIpRange(wrong), false, wrong);
});

test('an address in one of several ranges', () => {
  const cases: [string, string[], boolean][] = [
    ['203.0.113.9', [], false],
    ['203.0.113.9', ['203.0.113.9'], true],
    ['203.0.113.9', ['203.0.113.8', '203.0.113.0/28'], true],
    ['203.0.113.16', ['203.0.113.0/28'], false],
    ['203.0.113.9', ['203.0.113.200/24'], true],
    ['::ffff:203.0.113.9', ['203.0.113.0/24'], true],
    ['203.0.113.9', ['::ffff:203.0.113.0/120'], true],
    ['203.0.114.9', ['::ffff:203.0.113.0/120'], false],
    ['203.0.113.9', ['::/0'], false],
    ['2001:db8::1', ['0.0.0.0/0'], false],
    ['2001:DB8:0::1', ['2001:db8::/32'], true],
    ['2001:db9::1', ['2001:db8::/32', '10.0.0.0/8'], false],
    ['198.51.100.1', ['0.0.0.0/0'], true],
    ['fe80::1%eth0', ['fe80::/10'], true],
    ['unix socket', ['0.0.0.0/0', '::/0'], false],
    ['', ['0.0.0.0/0'], false],
  ];
  for (const [ip, ranges, wanted] of cases)
    assert.equal(isInRanges(ip, ranges), wanted, `${ip} in ${ranges.join(' ')}`);
});

test('every address is in its own network of every length, and in no network beside it', () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.integer({ min: 1, max: 32 }), (ip, bits) => {
      const number = ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
      // The neighbour differs in the last bit of the network.
      const other = [24, 16, 8, 0]
        .map((shift) => ((number ^ (2 ** (32 - bits))) >>> shift) & 255)
        .join('.');
      assert.ok(isInRanges(ip, [`${ip}/${bits}`]));
      assert.ok(!isInRanges(ip, [`${other}/${bits}`]));
    }),
  );
  fc.assert(
    fc.property(fc.string(), (text) => !isIpRange(text) || isInRanges(text.split('/')[0]!, [text])),
  );
});
