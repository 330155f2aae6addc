import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import { describeDestination } from '../../../server/api/destinations/describe.ts';
import { destinations } from '../../../server/engine/destinations/index.ts';
import { copyOf } from './copied.ts';
import { bodyOf } from './draft.ts';

const types = destinations.map(describeDestination);

test('a copy sends what the other export has, but for its secrets and its start', () => {
  const config = {
    host: 'db.example.com',
    port: 5433,
    database: 'd',
    user: 'u',
    schema: 's',
    table_name: 'events',
    require_tls: false,
    has_self_signed_cert: false,
    ssh_host: null,
    include_events: ['a', 'b'],
    exclude_events: null,
  };
  const row = {
    name: 'Nightly',
    model: 'events',
    interval: 'day',
    start_at: '2026-01-01T00:00:00.000000Z',
    end_at: null,
    freshness_seconds: 7_200,
    rejected_rows: 'set_aside',
    rejected_rows_max: 7,
    rejected_percent_max: 3,
    tags: ['nightly'],
    custom_query: null,
    connection_id: null,
    destination: { type: 'Postgres', config },
  } as unknown as BatchExport;
  const draft = copyOf(row, types, 'UTC');
  const type = types.find((one) => one.type === 'Postgres');
  const { ssh_host: _, exclude_events: __, ...copied } = config;
  assert.deepEqual(bodyOf(draft, undefined, type, 'UTC'), {
    name: 'Copy of Nightly',
    model: 'events',
    interval: 'day',
    timezone: null,
    offset_day: null,
    offset_hour: 0,
    offset_minute: 0,
    start_at: null,
    end_at: null,
    freshness_seconds: 7_200,
    rejected_rows: 'set_aside',
    mode: null,
    primary_key: null,
    version_key: null,
    rejected_rows_max: 7,
    rejected_percent_max: 3,
    tags: ['nightly'],
    custom_query: null,
    columns: null,
    new_columns: 'add',
    connection_id: null,
    destination: { type: 'Postgres', config: copied },
  });
});
