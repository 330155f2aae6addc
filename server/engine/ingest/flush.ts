import { isOutOfFiles } from '../../platform/open_files.ts';
import { isoInstant } from '../../platform/clock.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { caughtUp } from '../../platform/clickhouse/topology/caught_up.ts';
import type { Logger } from '../../platform/log.ts';
import type { Database, Transaction } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import type { RuleCounts } from './rules/rule_counts.ts';
import type { NoteWarning } from './warnings/warning.ts';
import { withoutErased } from './persons/erased_ids.ts';
import type { IncomingEvent } from './parse/event.ts';
import { findKnownUuids } from './known_uuids.ts';
import { noteRules, warnOfDuplicates } from './note_stored.ts';
import { clearBatch, lockForWriting, readState } from './lock.ts';
import type { IngestionState } from './lock.ts';
import { loadPersons } from './persons/load_persons.ts';
import type { LoadedPersons } from './persons/load_persons.ts';
import type { PersonStore } from './persons/person_store.ts';
import { buildRows } from './rows.ts';
import type { BatchRows } from './rows.ts';
import { settleBatch } from './settle_batch.ts';
import { writeRows } from './write.ts';

/**
 * The parts of a flush. `seconds_max` bounds the time in which the store may write a batch,
 * `look_up_seconds_max` the time for its look-ups, `bytes_max` the written size of a batch.
 * `letOthers` is awaited between two batches, `warn` records changes to an event, and `count` the
 * changes by the project's rules.
 */
export type FlushDeps = {
  db: Database;
  clickhouse: ClickHouse;
  log: Logger;
  persons: PersonStore;
  secrets: Pick<Secrets, 'hash'>;
  warn: NoteWarning;
  count: RuleCounts['note'];
  letOthers: () => Promise<void>;
  seconds_max: number;
  look_up_seconds_max: number;
  bytes_max: number;
};

/** Why a batch was not stored: a retry may help, or its project does not exist. */
export type FlushFailure = 'unavailable' | 'out_of_files' | 'project_gone';

/**
 * The outcome of an event: stored, stored before (in the store or earlier in the batch), or refused
 * because its person was erased.
 */
export type Fate = 'stored' | 'duplicate' | 'refused';

/**
 * The outcomes of the first `fates.length` events. The other events may not be stored: `failure`
 * gives the reason.
 */
export type FlushOutcome = { fates: Fate[]; failure?: FlushFailure };

/**
 * Stores a project's events and the resulting versions of persons in one batch, or in several if
 * their rows exceed one. Guarantees, for any number of processes: each event that it reports as
 * stored is in the store exactly once by its uuid and survives a kill of every process.
 * `inserted_at` is the same for a whole batch, in whole milliseconds, and greater than that of
 * every earlier batch. Never throws.
 */
export async function flushEvents(
  deps: FlushDeps,
  teamId: number,
  events: IncomingEvent[],
): Promise<FlushOutcome> {
  const all: Fate[] = [];
  let wanted = events.length;
  while (all.length < events.length) {
    if (all.length > 0) await deps.letOthers();
    const batch = upToForcedMerge(events.slice(all.length, all.length + wanted));
    const { fates, failure } = await flushBatch(deps, teamId, batch);
    warnOfDuplicates(deps, teamId, batch, fates);
    all.push(...fates);
    if (failure !== undefined) return { fates: all, failure };
    // With large persons, few events fit, and repeating the look-ups of the others each time would
    // take longer than writing.
    const fits = fates.length === batch.length;
    wanted = Math.max(2 * fates.length, fits ? wanted : 0);
  }
  return { fates: all };
}

/**
 * A forced merge may move thousands of distinct ids, whose owners must be known first. So it begins
 * a batch.
 */
function upToForcedMerge(events: IncomingEvent[]): IncomingEvent[] {
  const at = events.findIndex(({ merge }, index) => index > 0 && merge?.is_forced === true);
  return at === -1 ? events : events.slice(0, at);
}

/** Writes one batch: as many of the first events as fit, at least one unless it fails. */
async function flushBatch(
  deps: FlushDeps,
  teamId: number,
  events: IncomingEvent[],
): Promise<FlushOutcome> {
  let outcome: FlushOutcome | undefined;
  try {
    await deps.db.transaction(async (tx) => {
      // Shares one round trip to the control store: the state is read once the lock is held.
      const [, state] = await Promise.all([lockForWriting(tx, teamId), readState(tx, teamId)]);
      outcome = await caughtUp(deps.clickhouse, ['events', 'persons'], () =>
        writeBatch(deps, tx, state, teamId, events),
      );
    });
  } catch (error) {
    deps.log.error({ err: error, team_id: teamId }, 'an ingestion batch failed');
    deps.persons.forget(teamId);
    // Stored events stay stored, even if the lock could not be released.
    outcome ??= failed(isOutOfFiles(error) ? 'out_of_files' : 'unavailable');
  }
  return outcome ?? failed('unavailable');
}

function failed(failure: FlushFailure): FlushOutcome {
  return { fates: [], failure };
}

async function writeBatch(
  deps: FlushDeps,
  tx: Transaction,
  state: IngestionState,
  teamId: number,
  events: IncomingEvent[],
): Promise<FlushOutcome> {
  if (state.batch_id !== null) {
    // A process was killed in the middle of a batch. Until the store has ended its work on that
    // batch, a look-up of uuids is unreliable.
    deps.persons.forget(teamId);
    if (state.is_batch_elsewhere) return failed('unavailable');
    if (!(await settleBatch(deps.clickhouse, teamId, state))) return failed('unavailable');
  }
  const allowed = state.has_erased_ids
    ? await withoutErased({ ...deps, tx }, teamId, events)
    : events;
  const found = await within(deps.look_up_seconds_max, (signal) =>
    lookUp(deps, teamId, allowed, state, signal),
  );
  if (found.fresh.length === 0) {
    if (state.batch_id !== null) await clearBatch(tx, teamId, state.batch_id);
    return { fates: found.fates };
  }
  const { fresh, last_inserted_at } = found;
  const rows = await buildRows(teamId, fresh, found.persons, deps.bytes_max);
  const written = await writeUnchanged(deps, tx, {
    team_id: teamId,
    state,
    last_inserted_at,
    rows,
  });
  if (typeof written === 'string') {
    deps.persons.forget(teamId);
    return failed(written);
  }
  if (written.length > 0)
    deps.persons.remember(
      teamId,
      state.persons_generation + 1,
      written.map((person) => [person.distinct_id, person]),
    );
  for (const warning of rows.warnings) deps.warn(warning);
  noteRules(deps, teamId, fresh.slice(0, rows.events.length));
  const next = fresh[rows.events.length];
  return {
    fates: next === undefined ? found.fates : found.fates.slice(0, allowed.indexOf(next)),
  };
}

/** Writes the rows, unless the state they depend on has changed. */
async function writeUnchanged(
  deps: FlushDeps,
  tx: Transaction,
  created: { team_id: number; state: IngestionState; last_inserted_at: number; rows: BatchRows },
) {
  const { team_id, state, last_inserted_at, rows } = created;
  // Read right before the batch is recorded, through the transaction: it throws if the session and
  // its lock are gone.
  const latest = await readState(tx, team_id);
  if (!latest.has_project) return 'project_gone';
  const isUnchanged =
    latest.batch_id === state.batch_id && latest.last_inserted_at === state.last_inserted_at;
  if (!isUnchanged) return 'unavailable';
  const inserted_at = isoInstant(nextInsertion(latest, last_inserted_at));
  const { epoch, last_inserted_at: before } = state;
  const batch = { team_id, epoch, inserted_at, last_inserted_at: before, rows };
  return writeRows(deps, tx, batch);
}

type Found = {
  fates: Fate[];
  fresh: IncomingEvent[];
  persons: LoadedPersons;
  last_inserted_at: number;
};

/** Reads everything from the store that a batch needs. */
async function lookUp(
  deps: FlushDeps,
  teamId: number,
  events: (IncomingEvent | undefined)[],
  state: IngestionState,
  signal: AbortSignal,
): Promise<Found> {
  const given = events.flatMap((event) => (event?.is_uuid_given === true ? event.uuid : []));
  const known = await findKnownUuids(deps.clickhouse, teamId, given, signal);
  // A late answer must not reach the cache of persons: another process may hold the lock by then.
  signal.throwIfAborted();
  const fresh: IncomingEvent[] = [];
  const fates = events.map((event): Fate => {
    if (event === undefined) return 'refused';
    if (event.is_uuid_given) {
      if (known.has(event.uuid)) return 'duplicate';
      known.add(event.uuid);
    }
    fresh.push(event);
    return 'stored';
  });
  if (fresh.length === 0) {
    const persons = { persons: new Map(), others: new Map() };
    return { fates, fresh, persons, last_inserted_at: 0 };
  }
  return {
    fates,
    fresh,
    persons: await loadPersons(deps.persons, teamId, state.persons_generation, fresh, signal),
    last_inserted_at:
      state.last_inserted_at === null
        ? await lastInsertionInStore(deps.clickhouse, teamId, signal)
        : Date.parse(state.last_inserted_at),
  };
}

/**
 * Rejects after the time limit, even for an answer that has begun and does not end: the client's
 * own abort misses that.
 */
async function within<Result>(
  seconds: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    controller.abort();
    reject(new Error('The store did not answer the look-ups of a batch in time.'));
  }, seconds * 1_000);
  try {
    return await Promise.race([work(controller.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the instant of the next batch in milliseconds; `last` belongs to the latest one. */
export function nextInsertion(state: IngestionState, last: number): number {
  return Math.max(
    Date.parse(state.now),
    last + 1,
    state.settled_until === null ? 0 : Date.parse(state.settled_until),
  );
}

// Queried once per project: before its first batch, or after the control store was restored to an
// older state.
async function lastInsertionInStore(
  clickhouse: ClickHouse,
  teamId: number,
  signal: AbortSignal,
): Promise<number> {
  const found = await clickhouse.rows<{ last: number }>({
    query:
      'SELECT toUnixTimestamp64Milli(max(inserted_at)) AS last FROM events WHERE team_id = ' +
      '{team_id:Int64}',
    query_params: { team_id: teamId },
    abort_signal: signal,
  });
  return found[0]?.last ?? 0;
}
