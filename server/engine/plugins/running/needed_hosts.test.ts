import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openNeededHosts } from './needed_hosts.ts';

const needs = openNeededHosts({
  code:
    'fetch(`https://${config.area}.api-example.com/${event.tenant}`);\n//# ' +
    'sourceMappingURL=data:application/json;base64,ZXZpbA==',
  config: { area: 'EU', address: 'http://127.0.0.1:99/x', mail: 'someone@bücher.de' },
  allowed_hosts: ['*.api-example.com', 'Hooks.Partner.test'],
  attachments: {
    key: {
      content_type: 'application/json',
      file_name: 'key.json',
      contents: Buffer.from('{"uri": "https://tokens.cloud.test/"}'),
    },
  },
});

const cases: [string, boolean][] = [
  ['eu.api-example.com', true],
  ['api-example.com', true],
  ['127.0.0.1', true],
  ['tokens.cloud.test', true],
  ['xn--bcher-kva.de', true],
  ['evil.api-example.com', false],
  ['evil.test', false],
  ['hooks.partner.test', true],
  ['evil.partner.test', false],
  ['zxzpba.com', false],
  ['apiexample.com', false],
  ['[::1]', true],
  ['10.0.0.1', false],
];

test('a host is needed when code and settings name it, in one piece or in several', () => {
  for (const [host, expected] of cases) assert.equal(needs(host), expected, host);
});
