import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConnectionString } from './connection_string.ts';

test('slashes at the end of an address are left out, wherever it comes from', () => {
  const account = { name: 'abc', key: 'a2V5' };
  for (const [parts, endpoint] of [
    ['EndpointSuffix=core.windows.net/', 'https://abc.blob.core.windows.net'],
    ['EndpointSuffix=azurite.example:10000//', 'https://abc.blob.azurite.example:10000'],
    ['BlobEndpoint=https://azurite.example/abc/', 'https://azurite.example/abc'],
  ])
    assert.deepEqual(readConnectionString(`AccountName=abc;AccountKey=a2V5;${parts}`), {
      endpoint,
      account,
    });
});
