import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { withProperties } from '../running/read_events.ts';
import { isSampled, unwantedReason } from './wanted.ts';

function eventOf(properties: Record<string, unknown>) {
  return withProperties({
    uuid: randomUUID(),
    event: 'Order completed',
    distinct_id: 'ada',
    team_id: 1,
    timestamp: '2026-11-30T10:00:00.000000Z',
    inserted_at: '2026-11-30T10:00:00.000000Z',
    properties,
    elements_chain: '',
    person: { id: '0190163d-8694-739b-aea5-966c26f8ad91', properties: {} },
  });
}

test('The reason of a filter names the value, also of a name with $', () => {
  const mapping = { subscribe: 'type = "track" and properties.$browser = "Safari"' };
  assert.equal(
    unwantedReason(mapping, eventOf({ $browser: 'Firefox' })),
    'The filter does not match: properties.$browser is "Firefox", and it wants = "Safari".',
  );
  assert.match(unwantedReason(mapping, eventOf({}))!, /\$browser is missing/);
  assert.equal(unwantedReason(mapping, eventOf({ $browser: 'Safari' })), undefined);
});

test('Without consent to the category an event is not wanted', () => {
  const mapping = { subscribe: 'type = "track"', consent: 'Advertising' };
  const given = (categoryPreferences: unknown) =>
    unwantedReason(mapping, eventOf({ context: { consent: { categoryPreferences } } }));
  assert.equal(given({ Advertising: true }), undefined);
  for (const other of [{ Advertising: false }, { Advertising: 'true' }, { Analytics: true }, null])
    assert.match(given(other)!, /consented to Advertising/);
});

test('A sample has its share of persons, the same ones each time', () => {
  const persons = Array.from({ length: 20_000 }, (_, at) => `person ${at}`);
  const sampled = persons.filter((id) => isSampled(id, 10));
  assert.ok(Math.abs(sampled.length - 2_000) < 150, `${sampled.length} of 20,000 for 10 %`);
  assert.ok(sampled.every((id) => isSampled(id, 10) && isSampled(id, 30)));
  assert.ok(persons.every((id) => isSampled(id, 100)));
});

test('A filter that cannot be read is left to the library', () =>
  assert.equal(unwantedReason({ subscribe: 'never readable ~' }, eventOf({})), undefined));
