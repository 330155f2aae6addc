import type { Clock } from '../../../platform/clock.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { Logger } from '../../../platform/log.ts';
import { openDelayed } from '../../../platform/pacing/delayed.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import { examples_max, storeWarnings } from './store.ts';
import type { NoteWarning, PendingWarning, Warning, WarningExample } from './warning.ts';

/** One process's writer of the table of warnings. */
export type Warnings = {
  note: NoteWarning;
  /** Stores the warnings so far. Never throws: counts that could not be stored are retried. */
  store(): Promise<void>;
};

type Parts = { db: Database; clock: Clock; log: Logger };

const hour_ms = 3_600_000;
/** Length of a text in an example. */
const text_length_max = 200;
/** Most counts that wait while the control store is unreachable. */
const pending_max = 10_000;

const opened = new WeakMap<Database, Warnings>();

/**
 * The warnings of one process: counted in memory, and added to the table once a second in one
 * statement, for any number of events. A kill loses the counts of the last second, but no event.
 */
export function sharedWarnings(parts: Parts): Warnings {
  const known = opened.get(parts.db);
  if (known !== undefined) return known;
  const warnings = openWarnings(parts);
  opened.set(parts.db, warnings);
  return warnings;
}

function openWarnings({ db, clock, log }: Parts): Warnings {
  const pending = openPending();
  const delayed = openDelayed(async () => {
    const { counts, forgotten } = pending.takeAll();
    if (forgotten > 0) log.warn({ events: forgotten }, 'ingestion warnings were not counted');
    try {
      if (counts.length > 0) await storeWarnings(db, counts);
    } catch (error) {
      log.warn({ err: error }, 'ingestion warnings could not be stored; Sluice retries');
      for (const count of counts) pending.add(count);
      delayed.plan();
    }
  });
  return {
    note: (warning) => {
      pending.note(warning, clock.now());
      delayed.plan();
    },
    store: delayed.store,
  };
}

/** Collects warnings that are not stored yet. */
function openPending() {
  let counts = new Map<string, PendingWarning>();
  let forgotten = 0;
  const keyOf = (team_id: number, hour: string, reason: string) => `${team_id} ${hour} ${reason}`;
  const put = (key: string, count: PendingWarning) => {
    if (counts.size < pending_max) counts.set(key, count);
    else forgotten += count.events;
  };
  return {
    note: ({ team_id, reason, example, events = 1 }: Warning, now_ms: number) => {
      const at = isoInstant(now_ms);
      const hour = isoInstant(now_ms - (now_ms % hour_ms));
      const key = keyOf(team_id, hour, reason);
      const known = counts.get(key);
      if (known === undefined)
        return put(key, {
          team_id,
          hour,
          reason,
          events,
          last_at: at,
          examples: [shown(example, at)],
        });
      known.events += events;
      known.last_at = at;
      if (known.examples.length < examples_max) known.examples.push(shown(example, at));
    },
    add: (count: PendingWarning) => {
      const key = keyOf(count.team_id, count.hour, count.reason);
      const known = counts.get(key);
      if (known === undefined) return put(key, count);
      known.events += count.events;
      known.examples = [...known.examples, ...count.examples].slice(0, examples_max);
    },
    takeAll: () => {
      const taken = { counts: [...counts.values()], forgotten };
      counts = new Map();
      forgotten = 0;
      return taken;
    },
  };
}

/** Returns the example with its texts cut, in a form that PostgreSQL can store. */
function shown(example: WarningExample, at: string): WarningExample & { at: string } {
  const texts = Object.entries(example).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, shortened(text)]],
  );
  return { at, ...(Object.fromEntries(texts) as WarningExample) };
}

function shortened(text: string): string {
  const whole = text.replaceAll('\0', '\uFFFD');
  if (whole.length <= text_length_max) return whole.toWellFormed();
  return `${whole.slice(0, text_length_max).toWellFormed()}…`;
}
