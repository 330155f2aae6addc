import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyOf, draftOf } from './draft.ts';
import type { Base } from './draft.ts';

test('a number is sent as a number, whatever the API calls its type', () => {
  const sent = (freshness_seconds: string) =>
    bodyOf({ ...draftOf(undefined, 'UTC'), freshness_seconds }, undefined, undefined, 'UTC')[
      'freshness_seconds'
    ];
  assert.deepEqual(['', ' 90 ', '-5', '1.5', 'soon'].map(sent), [null, 90, -5, '1.5', 'soon']);
});

test('start and end are typed as the clocks of the zone show them', () => {
  const zone = 'Europe/Berlin';
  const base = { destination: { type: 'NoOp', config: {} }, custom_query: null } as Base;
  const stored = { ...base, start_at: '2026-10-25T01:30:00.000000Z', end_at: null };
  const draft = draftOf(stored, zone);
  // The hour occurs twice, and what was not typed is not sent.
  assert.deepEqual([draft.start_at, draft.end_at], ['2026-10-25 02:30', '']);
  assert.deepEqual(bodyOf(draft, stored, undefined, zone), {});
  const sent = (end_at: string) => bodyOf({ ...draft, end_at }, stored, undefined, zone);
  assert.deepEqual(sent('2026-11-01 00:00'), { end_at: '2026-10-31T23:00:00.000Z' });
  // The API refuses a text that is no instant.
  assert.deepEqual(sent('12026-11-01T00:00'), { end_at: '12026-11-01T00:00' });
});

test('a schedule is sent as the API has it, and only what was changed of it', () => {
  const sent = (changes: object, base?: Base) => {
    const { interval, timezone, offset_day, offset_hour, offset_minute } = bodyOf(
      { ...draftOf(base, 'UTC'), ...changes },
      base,
      undefined,
      'UTC',
    );
    return [interval, timezone, offset_day, offset_hour, offset_minute];
  };
  const week = { interval: 'week', offset_day: '0', offset_time: '06:30' };
  assert.deepEqual(sent(week), ['week', null, 0, 6, 30]);
  assert.deepEqual(sent({ ...week, interval: 'day' }), ['day', null, null, 6, 30]);
  assert.deepEqual(sent({ ...week, interval: 'hour' }), ['hour', null, null, null, null]);
  // The API refuses a text that is no time, and a zone that does not exist.
  assert.deepEqual(sent({ ...week, offset_time: 'at six', timezone: ' Mars ' }), [
    'week',
    'Mars',
    0,
    'at six',
    0,
  ]);
  const stored = {
    destination: { type: 'NoOp', config: {} },
    custom_query: null,
    start_at: null,
    end_at: null,
    interval: 'day',
    timezone: 'Europe/Berlin',
    offset_day: null,
    offset_hour: 6,
    offset_minute: 0,
  } as unknown as Base;
  assert.deepEqual(sent({}, stored), [undefined, undefined, undefined, undefined, undefined]);
  assert.deepEqual(sent({ offset_time: '6:15' }, stored).slice(3), [undefined, 15]);
  assert.deepEqual(sent({ timezone: '' }, stored).slice(0, 2), [undefined, null]);
});

test('typed columns are sent for what has some, with the schema that was accepted', () => {
  const stored = {
    destination: { type: 'NoOp', config: {} },
    custom_query: null,
    model: 'events',
    columns: 'typed',
    new_columns: 'wait',
    schema_number: 7,
  } as unknown as Base;
  const sent = (changes: object) =>
    bodyOf({ ...draftOf(stored, 'UTC'), ...changes }, stored, undefined, 'UTC');
  assert.deepEqual(sent({}), {});
  assert.deepEqual(sent({ schema_number: '8' }), { schema_number: 8 });
  assert.deepEqual(sent({ columns: '' }), { columns: null, new_columns: 'add' });
  assert.deepEqual(sent({ new_columns: 'add' }), { new_columns: 'add' });
  assert.deepEqual(sent({ model: 'groups' }), { model: 'groups' });
  assert.deepEqual(sent({ model: 'sessions' }), {
    model: 'sessions',
    columns: null,
    new_columns: 'add',
  });
});
