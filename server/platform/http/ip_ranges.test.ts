import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isInRanges, rangeFault } from './ip_ranges.ts';

test('an address is let in by a range of its own kind, and by no range at all', () => {
  for (const [ip, ranges, expected] of [
    ['203.0.113.7', [], true],
    ['203.0.113.7', ['203.0.113.0/24'], true],
    ['203.0.114.7', ['203.0.113.0/24'], false],
    ['::ffff:203.0.113.7', ['203.0.113.0/24'], true],
    ['203.0.113.7', ['2001:db8::/32', '203.0.113.7/32'], true],
    ['2001:db8::1', ['2001:db8::/32'], true],
    ['2001:db9::1', ['2001:db8::/32'], false],
    ['203.0.113.7', ['::/0'], false],
    ['unknown', ['0.0.0.0/0'], false],
  ] as const)
    assert.equal(isInRanges(ip, ranges), expected, `${ip} in ${ranges.join()}`);
});

test('a range that cannot be used is named', () => {
  for (const range of ['203.0.113.7', '203.0.113.0/33', 'x/8', '2001:db8::/129', ''])
    assert.match(rangeFault(range)!, /CIDR/, range);
  for (const range of ['10.0.0.0/8', '::/0']) assert.equal(rangeFault(range), undefined);
});
