import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import { configFacts } from './config_facts.ts';

const type = {
  config: {
    properties: {
      prefix: { type: 'string', title: 'Prefix' },
      compression: { type: ['string', 'null'], title: 'Compression' },
      is_flat: { type: 'boolean', title: 'Flat' },
      include_events: { type: 'array', title: 'Only these events' },
      account: { type: 'string', title: 'Account' },
    },
  },
  only_with: [{ keys: ['account'], key: 'prefix', values: ['other'] }],
} as unknown as DestinationType;

test('stored settings stand under the titles of the form, in its order, in words', () => {
  // In the order in which a database gives them.
  const config = {
    later: 3,
    prefix: '',
    account: 'x',
    is_flat: false,
    compression: null,
    include_events: ['a', 'b'],
  };
  assert.deepEqual(
    configFacts(type, config).map(({ title, text }) => [title, text]),
    [
      ['Prefix', 'empty'],
      ['Compression', 'none'],
      ['Flat', 'no'],
      ['Only these events', 'a, b'],
      ['later', '3'],
    ],
  );
  assert.equal(configFacts(undefined, config)[2]!.title, 'account');
});
