import { randomUUID } from 'node:crypto';
import { isoInstant } from '../../platform/clock.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import type { Logger } from '../../platform/log.ts';
import { isDatabaseError } from '../../platform/postgres/database.ts';
import type { Database, Transaction } from '../../platform/postgres/database.ts';
import type { IncomingEvent } from './event.ts';
import { endBatch, insertBatch } from './insert.ts';
import type { IngestionTable } from './insert.ts';
import { storeInstant } from './instant.ts';
import { findKnownUuids } from './known_uuids.ts';
import { clearBatch, lockForWriting, noteBatch, readState } from './lock.ts';
import type { IngestionState } from './lock.ts';
import { applySet, personId } from './person.ts';
import type { Person } from './person.ts';
import type { PersonStore } from './person_store.ts';

/** What a flush works with. `seconds_max` bounds the time in which the store may write a batch. */
export type FlushDeps = { db: Database; clickhouse: ClickHouse; log: Logger; persons: PersonStore; seconds_max: number };

/** Why a batch was not stored: another attempt may help, or its project does not exist (any more). */
export type FlushFailure = 'unavailable' | 'project_gone';

/** `is_duplicate[i]` says that the i-th event was there before, in the store or further ahead in the batch. */
export type FlushOutcome = { is_duplicate: boolean[]; failure?: undefined } | { failure: FlushFailure };

/**
 * Stores one batch of a project's events and the versions of persons that they make. Guarantees, for every number of processes: when it says stored, each event's uuid is
 * in the store exactly once and survives a kill of everything; `inserted_at` is the same for the whole batch, whole milliseconds, and greater than that of every batch before. Never throws.
 */
export async function flushBatch(deps: FlushDeps, teamId: number, events: IncomingEvent[]): Promise<FlushOutcome> {
  let outcome: FlushOutcome | undefined;
  try {
    await deps.db.transaction(async (tx) => {
      await lockForWriting(tx, teamId);
      outcome = await writeBatch(deps, tx, teamId, events);
    });
  } catch (error) {
    deps.log.error({ err: error, team_id: teamId }, 'an ingestion batch failed');
    deps.persons.forget(teamId);
    // What was stored is stored, even when the lock could not be given back in good order.
    if (outcome === undefined) return { failure: isDatabaseError(error) && error.code === '23503' ? 'project_gone' : 'unavailable' };
  }
  return outcome ?? { failure: 'unavailable' };
}

async function writeBatch(deps: FlushDeps, tx: Transaction, teamId: number, events: IncomingEvent[]): Promise<FlushOutcome> {
  const state = await readState(tx, teamId);
  if (state.batch_id !== null) {
    // Somebody was killed in the middle of a batch. Until the store has let go of it, a look-up of uuids could not be trusted.
    deps.persons.forget(teamId);
    if (!(await endBatch(deps.clickhouse, state.batch_id))) return { failure: 'unavailable' };
  }
  const isDuplicate = await findDuplicates(deps.clickhouse, teamId, events);
  const fresh = events.filter((_event, index) => !isDuplicate[index]);
  if (fresh.length === 0) return { is_duplicate: isDuplicate };
  const insertedAt = isoInstant(await nextInsertion(deps.clickhouse, teamId, state));
  const before = await deps.persons.load(
    teamId,
    state.persons_generation,
    fresh.map((event) => event.distinct_id),
  );
  const { rows, changed } = applyEvents(teamId, fresh, before, insertedAt);
  const isStored = await storeRows(deps, tx, { team_id: teamId, inserted_at: insertedAt, events: rows, persons: changed });
  if (!isStored) {
    deps.persons.forget(teamId);
    return { failure: 'unavailable' };
  }
  if (changed.length > 0)
    deps.persons.remember(
      teamId,
      state.persons_generation + 1,
      changed.map((person) => [person.distinct_id, person]),
    );
  return { is_duplicate: isDuplicate };
}

type BatchRows = { team_id: number; inserted_at: string; events: object[]; persons: object[] };

async function storeRows(deps: FlushDeps, tx: Transaction, rows: BatchRows): Promise<boolean> {
  const { team_id, inserted_at } = rows;
  const batch_id = randomUUID();
  await noteBatch(deps.db, { team_id, batch_id, inserted_at, writes_persons: rows.persons.length > 0, seconds_max: deps.seconds_max });
  const ends_at = performance.now() + deps.seconds_max * 1_000;
  // Persons first: an event is never there before the version of the person that it speaks of.
  for (const table of ['persons', 'events'] satisfies IngestionTable[]) {
    if (rows[table].length === 0) continue;
    const { outcome, error } = await insertBatch(deps.clickhouse, {
      table,
      batch_id,
      team_id,
      inserted_at: storeInstant(Date.parse(inserted_at)),
      rows: rows[table],
      ends_at,
    });
    if (error !== undefined) deps.log.warn({ err: error, team_id, table, outcome }, 'an insert did not end well');
    if (outcome === 'stored') continue;
    if (outcome === 'absent') await clearBatch(tx, team_id, batch_id);
    return false;
  }
  await clearBatch(tx, team_id, batch_id);
  return true;
}

async function findDuplicates(clickhouse: ClickHouse, teamId: number, events: IncomingEvent[]): Promise<boolean[]> {
  const known = await findKnownUuids(
    clickhouse,
    teamId,
    events.filter((event) => event.is_uuid_given).map((event) => event.uuid),
  );
  return events.map((event) => {
    if (known.has(event.uuid)) return true;
    known.add(event.uuid);
    return false;
  });
}

async function nextInsertion(clickhouse: ClickHouse, teamId: number, state: IngestionState): Promise<number> {
  const last = state.last_inserted_at === null ? await lastInsertionInStore(clickhouse, teamId) : Date.parse(state.last_inserted_at);
  return Math.max(Date.parse(state.now), last + 1);
}

// Asked once per project: before its first batch, or after the control store was put back to an older state.
async function lastInsertionInStore(clickhouse: ClickHouse, teamId: number): Promise<number> {
  const found = await clickhouse.query({
    query: 'SELECT toUnixTimestamp64Milli(max(inserted_at)) AS last FROM events WHERE team_id = {team_id:Int64}',
    query_params: { team_id: teamId },
    format: 'JSONEachRow',
  });
  return (await found.json<{ last: number }>())[0]?.last ?? 0;
}

function applyEvents(teamId: number, events: IncomingEvent[], before: Map<string, Person>, insertedAt: string) {
  const inserted_at = storeInstant(Date.parse(insertedAt));
  const latest = new Map(before);
  const ids = new Map<string, string>();
  const rows = events.map((event) => {
    const current = latest.get(event.distinct_id);
    const person = applySet(current, teamId, event, inserted_at);
    if (person !== undefined && person !== current) latest.set(event.distinct_id, person);
    let person_id = person?.person_id ?? ids.get(event.distinct_id);
    if (person_id === undefined) ids.set(event.distinct_id, (person_id = personId(teamId, event.distinct_id)));
    const { uuid, event: name, distinct_id, properties, elements_chain, timestamp } = event;
    return {
      team_id: teamId,
      uuid,
      event: name,
      distinct_id,
      person_id,
      properties,
      person_properties: person?.properties ?? '{}',
      elements_chain,
      timestamp,
      created_at: inserted_at,
      inserted_at,
    };
  });
  const changed = [...latest]
    .filter(([distinctId, person]) => person !== before.get(distinctId))
    .map(([distinct_id, person]) => {
      // One version per batch, however many of its events changed the person.
      const person_version = (before.get(distinct_id)?.person_version ?? 0) + 1;
      return { ...person, person_version, team_id: teamId, distinct_id, is_deleted: 0, inserted_at };
    });
  return { rows, changed };
}
