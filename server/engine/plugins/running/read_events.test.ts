import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { sendEvents, storedEvents } from '../../../../test/factories/plugins/running_plugins.ts';
import { harness, home, openAroundTests } from '../../../../test/factories/plugins/plugin_runs.ts';
import { movedTo, placeBefore, placeOf, position_json } from './leases.ts';
import type { Position } from './leases.ts';
import { readEvents } from './read_events.ts';

openAroundTests();

const signal = new AbortController().signal;

/** Reads all events after a place, so many at a time, and gives their numbers. */
async function numbersAfter(place: Position, rows_max: number) {
  const wanted = {
    team_id: home.project.id,
    until: '2199-01-01T00:00:00Z',
    names: null,
    rows_max,
    bytes_max: 1_000_000,
  };
  const numbers: unknown[] = [];
  for (let after = place; ;) {
    const { events, is_end } = await readEvents(
      harness.deps.clickhouse,
      { ...wanted, after },
      signal,
    );
    numbers.push(...events.map(({ properties }) => properties['number']));
    if (is_end) return numbers;
    after = placeOf(events.at(-1)!);
  }
}

test('parts of one request have its order, wherever they are cut', async () => {
  await sendEvents(home, 30);
  const wanted = [...Array(30).keys()];
  const begin = placeBefore('1970-01-01T00:00:00Z');
  for (const rows_max of [1, 7, 30, 100])
    assert.deepEqual(await numbersAfter(begin, rows_max), wanted);
});

test('a place of a release without timestamps ends its instant by uuids', async () => {
  await sendEvents(home, 30);
  const stored = await storedEvents(harness, home.project.id);
  const byUuid = await harness.deps.clickhouse.rows<{ uuid: string; inserted_at: string }>({
    query: `SELECT uuid, inserted_at FROM events WHERE team_id = {team_id:Int64}
      ORDER BY inserted_at, uuid`,
    query_params: { team_id: home.project.id },
  });
  const { uuid: event_uuid, inserted_at } = byUuid[9]!;
  const later = new Set(byUuid.slice(10).map(({ uuid }) => uuid));
  const wanted = stored
    .filter(({ uuid }) => later.has(uuid))
    .map(({ properties }) => (JSON.parse(properties) as { number: number }).number);
  const place = { inserted_at, event_uuid, within: null };
  assert.deepEqual(await numbersAfter(place, 100), wanted);
});

test('what a worker of release 1.0.0 has moved is no place within an instant', async () => {
  const { db } = harness.deps;
  const event = { inserted_at: '2026-01-01T00:00:00.001Z', timestamp: '2026-01-01T00:00:00Z' };
  const uuid = randomUUID();
  const inserted_at = '2026-01-01T00:00:00.001000Z';
  const within = { inserted_at: event.inserted_at, timestamp: event.timestamp, uuid };
  await db.transaction(async (tx) => {
    await tx.run(sql`CREATE TEMP TABLE places (inserted_at timestamptz, event_uuid uuid,
      within_instant json) ON COMMIT DROP`);
    await tx.run(sql`INSERT INTO places VALUES (now(), NULL, NULL)`);
    const read = async () =>
      (await tx.row<{ place: Position }>(sql`SELECT ${position_json} AS place FROM places`))!.place;
    await tx.run(sql`UPDATE places SET ${movedTo(placeOf({ ...event, uuid }))}`);
    assert.deepEqual(await read(), { inserted_at, event_uuid: null, within });
    await tx.run(sql`UPDATE places SET event_uuid = ${uuid}`);
    assert.deepEqual(await read(), { inserted_at, event_uuid: uuid, within: null });
    await tx.run(sql`UPDATE places SET inserted_at = '2026-01-01T00:00:01Z', event_uuid = NULL`);
    const later = '2026-01-01T00:00:01.000000Z';
    assert.deepEqual(await read(), { inserted_at: later, event_uuid: null, within: null });
  });
});
