import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAddress, refusalWords } from './words.ts';

test('an IP address is told from a host name that looks like one', () => {
  const cases: [string, boolean][] = [
    ['127.0.0.1', true],
    ['10.0.0.5', true],
    ['[::1]', true],
    ['localhost', false],
    ['10.0.0.5.example.com', false],
    ['sluice.example.com', false],
  ];
  for (const [host, wanted] of cases) assert.equal(isAddress(host), wanted, host);
});

test('every refusal says what to do', () => {
  for (const [name, wanted] of [
    ['NotAllowedError', /Try again/],
    ['SecurityError', /under 10\.0\.0\.5\. Open Sluice/],
    ['InvalidStateError', /already/],
    ['Whatever', /another browser/],
  ] as const)
    assert.match(refusalWords(name, '10.0.0.5'), wanted);
});
