import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { countProcessorTime } from '../../../../test/processor_time.ts';
import { openNeededHosts } from './needed_hosts.ts';

let needs: (host: string) => boolean;
before(async () => {
  needs = await openNeededHosts({
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

test('to ask costs nothing, however long the code and the name are', async () => {
  const words = Array.from({ length: 45 }, (_unused, index) => `zz${index}`);
  const code = `${'z'.repeat(3_000_000)} ${words.join(' ')}`;
  const isNeeded = await openNeededHosts({ code, config: {}, attachments: {}, allowed_hosts: [] });
  const worked_ms = countProcessorTime();
  for (let asked = 0; asked < 10; asked += 1) assert.ok(!isNeeded(`${words.join('.')}.a${asked}`));
  assert.ok(isNeeded(words.join('.')));
  assert.ok(worked_ms() < 500);
});
