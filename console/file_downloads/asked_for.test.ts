import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedFor } from './asked_for.ts';

const zone = 'Europe/Berlin';
const now = Date.parse('2026-11-29T10:00:00Z');
const typed = {
  start_at: '2026-03-28',
  end_at: '2026-03-29',
  model: 'events',
  batch_export: 'none',
  file_format: 'CSV',
  compression: 'gzip',
};

test('whole days are asked for by the clocks of the project, the present one until now', () => {
  assert.deepEqual(askedFor(typed, zone, now), {
    start_at: '2026-03-27T23:00:00.000Z',
    end_at: '2026-03-29T22:00:00.000Z',
    file_format: 'CSV',
    compression: 'gzip',
    model: 'events',
  });
  const { end_at } = askedFor({ ...typed, end_at: '2026-11-29' }, zone, now);
  assert.equal(end_at, '2026-11-29T10:00:00.000Z');
  // The API refuses the future; a range that ends where it begins would be another fault.
  const future = askedFor({ ...typed, start_at: '2026-11-30', end_at: '2026-11-30' }, zone, now);
  assert.deepEqual(
    [future.start_at, future.end_at],
    ['2026-11-29T23:00:00.000Z', '2026-11-30T23:00:00.000Z'],
  );
});

test('an export is asked for by its id, and a wrong day is left to the API', () => {
  const batch_export = '018f0000-0000-7000-8000-000000000000';
  const wrong = { start_at: '', end_at: 'soon', batch_export, compression: 'none' };
  assert.deepEqual(askedFor({ ...typed, ...wrong }, zone, now), {
    start_at: '',
    end_at: 'soon',
    file_format: 'CSV',
    compression: null,
    batch_export,
  });
});
