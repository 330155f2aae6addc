import type { Clock } from '../../platform/clock.ts';
import type { DiskRoom } from '../../platform/disk/disk_room.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { openSemaphore } from '../../platform/pacing/semaphore.ts';
import type { Semaphore } from '../../platform/pacing/semaphore.ts';
import { openIntakes } from './rules/find_intake.ts';
import type { IntakeFinder } from './rules/find_intake.ts';
import { sharedRuleCounts } from './rules/rule_counts.ts';
import type { RuleCounts } from './rules/rule_counts.ts';
import { sharedWarnings } from './warnings/warnings.ts';
import type { IncomingEvent } from './parse/event.ts';
import { flushEvents } from './flush.ts';
import type { Fate, FlushDeps, FlushFailure, FlushOutcome } from './flush.ts';
import { openPersonStore } from './persons/person_store.ts';

/**
 * The outcome for submitted events: all are stored, were stored before, or belong to erased persons
 * (`refused`); or the outcome is unknown.
 */
export type Stored =
  | { taken: number; duplicates: number; refused: number; failure?: undefined }
  | { failure: TakeFailure };

/** Why events are not stored; `disk_full`: until the disk has space again. */
export type TakeFailure = FlushFailure | 'disk_full';

/** One process's writer of the events table. */
export type Ingestion = {
  /**
   * Submits events of one project. Resolves once memory has room for them, with a promise of their
   * outcome. That promise never rejects, and its success means that the events survive a kill of
   * every process. Events of one project are stored in the order of submission.
   */
  add(teamId: number, events: IncomingEvent[]): Promise<{ stored: Promise<Stored> }>;
  /** Finds the rules and the plan of a project, which apply before events are submitted. */
  intakeOf: IntakeFinder;
  /** Counts events that a rule dropped and that are not submitted. */
  countDropped: RuleCounts['note'];
  /** Waits until all submitted events have been flushed and counts are stored. */
  drain(): Promise<void>;
};

/** Limits of one process's ingestion; `batch_...` apply to the largest batch. */
export type IngestionLimits = {
  batch_rows_max: number;
  batch_bytes_max: number;
  queue_bytes_max: number;
  flushes_max: number;
  look_up_seconds_max: number;
  /** After a faster batch, the next one may be twice as large. */
  quick_ms: number;
  /** After a slower batch, batches are small again. */
  slow_ms: number;
};

const default_limits: IngestionLimits = {
  // The store spends half as much on a row in a batch of 40,000 as in one of 10,000.
  batch_rows_max: 40_000,
  batch_bytes_max: 24 * 1024 * 1024,
  queue_bytes_max: 160 * 1024 * 1024,
  // Each flush holds a connection of the control store while it writes; the API needs the others.
  flushes_max: 4,
  // The lock is held meanwhile, by a transaction that the control store ends after two minutes
  // without a statement.
  look_up_seconds_max: 30,
  quick_ms: 2_000,
  slow_ms: 5_000,
};

/** The parts that ingestion needs. */
type IngestionDeps = Pick<FlushDeps, 'db' | 'clickhouse' | 'log'> & {
  secrets: Pick<Secrets, 'hash' | 'open'>;
  clock: Clock;
  /** The space on the stores' disks. Events that arrived before the disk was full are stored. */
  disk?: Pick<DiskRoom, 'isFull'> | undefined;
};

function flushDepsOf(
  deps: IngestionDeps,
  { look_up_seconds_max, batch_bytes_max }: IngestionLimits,
  { warn, count, flushes }: Pick<FlushDeps, 'warn' | 'count'> & { flushes: Semaphore },
): FlushDeps {
  return {
    ...deps,
    persons: openPersonStore(deps.clickhouse),
    warn,
    count,
    // Lets waiting work run between the thousands of batches that forced merges create.
    letOthers: () => {
      flushes.give(1);
      return flushes.take(1);
    },
    seconds_max: batch_seconds_max,
    look_up_seconds_max,
    bytes_max: batch_bytes_max,
  };
}

type Group = {
  events: IncomingEvent[];
  bytes: number;
  /** Releases the space that it occupies. */
  leave: () => void;
  finish: (stored: Stored) => void;
};

/** A project's share of the memory, so that others proceed while its events cannot be stored. */
const room_share = 1 / 4;

/**
 * Time limit of a batch in the store: long enough for a busy one. Exports of the project wait at
 * most this long for a batch in progress.
 */
const batch_seconds_max = 10;

/** Batches start at a share of the largest size, and double while the store is fast. */
const first_share = 1 / 4;

/**
 * Opens the ingestion of one process: group commit per project. A batch is written as soon as the
 * previous one is stored, so that a single event does not wait and many requests share a batch. At
 * most 160 MiB wait, a quarter of it for one project; beyond that, `add` waits.
 */
export function openIngestion(
  deps: IngestionDeps,
  limits: Partial<IngestionLimits> = {},
): Ingestion {
  const [warnings, counts] = [sharedWarnings(deps), sharedRuleCounts(deps)];
  const bounds = { ...default_limits, ...limits };
  const room = openRoom(bounds.queue_bytes_max);
  const flushes = openSemaphore(bounds.flushes_max);
  const noting = { warn: warnings.note, count: counts.note, flushes };
  const flushDeps = flushDepsOf(deps, bounds, noting);
  const queues = new Map<number, Group[]>();
  const flushers = new Set<Promise<void>>();

  async function flushAll(teamId: number, queue: Group[]): Promise<void> {
    // The first batch contains everything that arrives in the same turn of the event loop.
    await new Promise((resume) => setImmediate(resume));
    const batch = openBatchShare(bounds);
    while (queue.length > 0) {
      await flushes.take(1);
      const groups = takeGroups(queue, bounds, batch.begin());
      const events = groups.flatMap((group) => group.events);
      const outcome = await flushEvents(flushDeps, teamId, events);
      flushes.give(1);
      batch.end(outcome);
      tell(groups, outcome);
      for (const { leave } of groups) leave();
    }
    queues.delete(teamId);
    room.forget(teamId);
  }

  return {
    add: async (teamId, events) => {
      if (deps.disk?.isFull() === true)
        return { stored: Promise.resolve({ failure: 'disk_full' }) };
      const bytes = events.reduce((sum, event) => sum + event.bytes, 0);
      const leave = await room.enter(teamId, bytes);
      const stored = new Promise<Stored>((finish) => {
        const queue = queues.get(teamId);
        if (queue !== undefined) {
          queue.push({ events, bytes, leave, finish });
          return;
        }
        const fresh = [{ events, bytes, leave, finish }];
        queues.set(teamId, fresh);
        const flusher = flushAll(teamId, fresh);
        flushers.add(flusher);
        void flusher.finally(() => flushers.delete(flusher));
      });
      return { stored };
    },
    intakeOf: openIntakes(deps.db, deps.secrets),
    countDropped: counts.note,
    drain: async () => {
      while (flushers.size > 0) await Promise.all(flushers);
      await Promise.all([warnings.store(), counts.store()]);
    },
  };
}

/** Returns the share of the largest batch for the next one, by the duration of the last ones. */
function openBatchShare({ quick_ms, slow_ms }: IngestionLimits) {
  let share = first_share;
  let began = 0;
  return {
    begin: (): number => {
      began = performance.now();
      return share;
    },
    end: ({ failure }: FlushOutcome): void => {
      const took_ms = performance.now() - began;
      if (failure !== undefined || took_ms > slow_ms) share = first_share;
      else if (took_ms < quick_ms) share = Math.min(1, share * 2);
    },
  };
}

/** Memory for waiting events; each project may use a share of it. */
function openRoom(bytes_max: number) {
  const room = openSemaphore(bytes_max);
  const shares = new Map<number, Semaphore>();
  return {
    /** Waits for room and returns the function that releases it. */
    enter: async (teamId: number, bytes: number): Promise<() => void> => {
      const share = shares.get(teamId) ?? openSemaphore(bytes_max * room_share);
      shares.set(teamId, share);
      await share.take(bytes);
      await room.take(bytes);
      return () => {
        room.give(bytes);
        share.give(bytes);
      };
    },
    /** Deletes the entry of a project without waiting events. */
    forget: (teamId: number) => {
      if (shares.get(teamId)?.waiting === 0) shares.delete(teamId);
    },
  };
}

function takeGroups(queue: Group[], bounds: IngestionLimits, share: number): Group[] {
  const [rows_max, bytes_max] = [bounds.batch_rows_max * share, bounds.batch_bytes_max * share];
  const taken: Group[] = [];
  let rows = 0;
  let bytes = 0;
  for (let next = queue[0]; next !== undefined; next = queue[0]) {
    rows += next.events.length;
    bytes += next.bytes;
    if (taken.length > 0 && (rows > rows_max || bytes > bytes_max)) break;
    taken.push(next);
    queue.shift();
  }
  return taken;
}

function tell(groups: Group[], outcome: FlushOutcome): void {
  const { fates, failure = 'unavailable' } = outcome;
  let from = 0;
  for (const { events, finish } of groups) {
    const until = from + events.length;
    finish(until <= fates.length ? count(fates, from, until) : { failure });
    from = until;
  }
}

function count(fates: Fate[], from: number, until: number): Stored {
  const counts = { stored: 0, duplicate: 0, refused: 0 } satisfies Record<Fate, number>;
  for (let at = from; at < until; at += 1) counts[fates[at]!] += 1;
  return { taken: counts.stored, duplicates: counts.duplicate, refused: counts.refused };
}
