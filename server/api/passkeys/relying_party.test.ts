import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findRelyingParty } from './relying_party.ts';

test('passkeys belong to the host of the address, where browsers offer them', () => {
  const cases: [string, [string, string] | undefined][] = [
    ['https://sluice.example.com', ['sluice.example.com', 'https://sluice.example.com']],
    ['https://sluice.example.com/base', ['sluice.example.com', 'https://sluice.example.com']],
    ['https://sluice.example.com:8443', ['sluice.example.com', 'https://sluice.example.com:8443']],
    ['https://sluice', ['sluice', 'https://sluice']],
    ['http://localhost:8000', ['localhost', 'http://localhost:8000']],
    ['http://sluice.localhost', ['sluice.localhost', 'http://sluice.localhost']],
    ['http://127.0.0.1:8000', ['localhost', 'http://localhost:8000']],
    ['http://[::1]:8000', ['localhost', 'http://localhost:8000']],
    ['http://127.0.0.1', ['localhost', 'http://localhost']],
    ['http://sluice.example.com', undefined],
    ['http://10.0.0.5:8000', undefined],
    ['https://10.0.0.5', undefined],
    ['https://[2001:db8::1]', undefined],
  ];
  for (const [address, wanted] of cases) {
    const found = findRelyingParty(address);
    assert.deepEqual(found && [found.id, found.origin], wanted, address);
  }
});
