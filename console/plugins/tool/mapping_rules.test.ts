import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathsOf } from './event_paths.ts';
import { isAsked } from './fields/field_rules.ts';
import { mappedHosts } from './mapping_hosts.ts';

test('Paths reach each value of an event, but for names with a dot', () => {
  const event = { type: 'track', properties: { plan: 'pro', list: [{ sku: 1 }], 'a.b': 1 } };
  assert.deepEqual(
    pathsOf(event).map(({ path }) => path),
    [
      'type',
      'properties',
      'properties.plan',
      'properties.list',
      'properties.list.0',
      'properties.list.0.sku',
    ],
  );
  assert.deepEqual(pathsOf(event)[2], { path: 'properties.plan', shown: '"pro"' });
});

test('Hosts are those of whole addresses in the mappings', () => {
  const hosts = (...urls: unknown[]) =>
    mappedHosts(
      urls.map((url) => ({
        partnerAction: 'send',
        subscribe: '',
        mapping: { url, other: 'https://x.com' },
      })),
    );
  assert.deepEqual(hosts('https://hooks.slack.com/services/T/B/X', 'http://127.0.0.1:8080/'), [
    'hooks.slack.com',
    '127.0.0.1',
  ]);
  assert.deepEqual(hosts({ '@template': 'https://acme.com/{{userId}}' }), ['acme.com']);
  assert.deepEqual(hosts('https://hoo', 'acme', { '@template': 'https://{{a}}.com' }, 5, null), []);
});

test('A field is asked for while its conditions hold', () => {
  const on = (operator: 'is' | 'is_not', value: unknown, match?: 'any' | 'all') => ({
    depends_on: {
      ...(match === undefined ? {} : { match }),
      conditions: [
        { fieldKey: 'method', operator, value },
        { fieldKey: 'format', operator: 'is' as const, value: 'json' },
      ],
    },
  });
  const mapping = { method: 'GET', format: 'json' };
  assert.equal(isAsked({}, mapping), true);
  assert.equal(isAsked(on('is_not', 'GET'), mapping), false);
  assert.equal(isAsked(on('is_not', 'GET', 'any'), mapping), true);
  assert.equal(isAsked(on('is', ['GET', 'PUT']), mapping), true);
});
