import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf } from './address.ts';

test('the network that an address stands for', () => {
  const cases: [string, string][] = [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['::1', '::/64'],
    ['unix socket', 'unix socket'],
  ];
  for (const [ip, wanted] of cases) assert.equal(addressOf(ip), wanted, ip);
});
