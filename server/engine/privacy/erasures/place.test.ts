import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clickhouse } from '../../destinations/clickhouse/clickhouse.ts';
import { http } from '../../destinations/http/http.ts';
import type { DestinationDefinition } from '../../model/destination/destination.ts';
import { placeOf } from './place.ts';

test('the place of a delivery says each part once, even if host, url and names agree', () => {
  const place = (definition: unknown, url: string, names: string[], is_current = true) =>
    placeOf(definition as DestinationDefinition, {
      destination_config: { url },
      is_current,
      facts: { source_records: 1, names },
    });
  const url = 'https://events.example.com:8443/in';
  assert.equal(place(http, url, ['events.example.com:8443']), url);
  assert.equal(
    place(clickhouse, 'https://ch.example.com', ['warehouse.events']),
    'https://ch.example.com: warehouse.events',
  );
  assert.equal(place(http, url, ['old.example.com'], false), 'old.example.com');
});
