import sql from 'sql-template-tag';
import type { Engine } from '../../../server/engine/exports/engine.ts';
import { parseExactJson, writeExactJson } from '../../../server/platform/json/exact_json.ts';
import type { Transaction } from '../../../server/platform/postgres/database.ts';
import { newSnapshotId } from '../../../server/engine/destinations/lake/snapshot_change.ts';
import { brokenConnection, lose } from './faulty_catalog.ts';

type Fetch = Engine['outbound']['fetch'];

/**
 * The fault of the answer to a commit. The answer is lost before the request was sent or after it
 * took effect, or it is `late`: the request arrives after the worker stopped waiting.
 */
export type Answer = 'lost before' | 'lost after' | 'late';

/** The faults of one attempt. */
export type AttemptFaults = {
  /** The worker dies at this boundary of its calls; undefined: it survives. */
  kill_at: number | undefined;
  /** Consumed from the start, one for each commit. */
  answers: Answer[];
  /** Runs before a commit is sent, so that another writer is first. */
  before_commit: (() => Promise<void>) | undefined;
  is_naive: boolean;
};

/** Makes a call one between two boundaries. */
type Between = <Given extends unknown[], Result>(
  call: (...given: Given) => Promise<Result>,
) => (...given: Given) => Promise<Result>;

/** The faults that hit an attempt, and the number of boundaries that it reached. */
export type Struck = { killed: boolean; answers: number; boundaries: number };

class Killed extends Error {}

/**
 * Returns an engine whose worker dies, and whose commits lose their answers. A dead worker makes no
 * more calls and its signal is aborted; its sent requests continue. Boundaries are before and after
 * each statement, each COMMIT, and each request. Further calls of the worker have boundaries if
 * they are passed to `between`.
 */
export function faultyEngine(
  engine: Engine,
  faults: AttemptFaults,
  kill: () => void,
): { engine: Engine; struck: Struck; between: Between } {
  const struck: Struck = { killed: false, answers: 0, boundaries: 0 };
  const boundary = () => {
    struck.boundaries += 1;
    if (struck.boundaries === faults.kill_at) {
      struck.killed = true;
      kill();
    }
    if (struck.killed) throw new Killed('The worker was killed.');
  };
  const between: Between =
    (call) =>
    async (...given) => {
      boundary();
      const result = await call(...given);
      boundary();
      return result;
    };
  const next = () => {
    const answer = faults.answers.shift();
    if (answer !== undefined) struck.answers += 1;
    return answer;
  };
  const { db, outbound } = engine;
  const own = {
    ...engine,
    db: {
      ...db,
      row: between(db.row),
      rows: between(db.rows),
      run: between(db.run),
      transaction: between(losing(db, next, boundary)) as typeof db.transaction,
    },
    outbound: {
      ...outbound,
      fetch: between((url: Parameters<Fetch>[0], init: Parameters<Fetch>[1]) =>
        isCommitOf(init)
          ? commit(outbound.fetch, url, init, faults, next)
          : outbound.fetch(url, init),
      ),
    },
  };
  return { engine: own, struck, between };
}

/**
 * A transaction that may lose its answer if it commits to a table, and that dies before its COMMIT.
 */
function losing(db: Engine['db'], next: () => Answer | undefined, boundary: () => void) {
  return async (work: (tx: Transaction) => Promise<unknown>): Promise<unknown> => {
    let answer: Answer | undefined;
    const result = await db.transaction(async (tx) => {
      const done = await work(tx);
      const isCommit = await tx.row(sql`SELECT 1 FROM lake_snapshots
        WHERE xmin = pg_current_xact_id()::xid
        UNION ALL SELECT 1 FROM lake_expired_snapshots
        WHERE xmin = pg_current_xact_id()::xid LIMIT 1`);
      answer = isCommit === undefined ? undefined : next();
      if (answer === 'lost before') throw new Error('The connection broke before the COMMIT.');
      boundary();
      return done;
    });
    if (answer !== undefined) throw new Error('The answer to the COMMIT is lost.');
    return result;
  };
}

function isCommitOf(init: Parameters<Fetch>[1]): boolean {
  return typeof init?.body === 'string' && init.body.includes('"add-snapshot"');
}

async function commit(
  fetch: Fetch,
  url: Parameters<Fetch>[0],
  init: Parameters<Fetch>[1],
  faults: AttemptFaults,
  next: () => Answer | undefined,
): ReturnType<Fetch> {
  const first = faults.before_commit;
  faults.before_commit = undefined;
  await first?.();
  const sent = faults.is_naive ? naive(init!) : init;
  const answer = next();
  if (answer === undefined) return fetch(url, sent);
  if (answer === 'lost after') return lose(fetch(url, sent));
  if (answer === 'late') {
    // It has no signal, like a request that was already sent.
    const { signal: _signal, ...rest } = sent!;
    late.push(later().then(async () => void (await (await fetch(url, rest)).text())));
  }
  throw brokenConnection();
}

const late: Promise<void>[] = [];
const later = () => new Promise<void>((resolve) => setTimeout(resolve, Math.random() * 60));

/** Waits until no request is in progress any more. */
export async function settleLate(): Promise<void> {
  await Promise.allSettled(late.splice(0));
}

/** A commit of a writer that uses another id each time and names no delivery. */
function naive(init: NonNullable<Parameters<Fetch>[1]>) {
  type Update = { action: string; snapshot?: Record<string, unknown> } & Record<string, unknown>;
  const body = parseExactJson(init.body as string) as { updates: Update[] };
  const id = newSnapshotId();
  const updates = body.updates
    .filter(({ action }) => action !== 'set-properties')
    .map((update) => {
      if (update.action === 'set-snapshot-ref') return { ...update, 'snapshot-id': id };
      if (update.snapshot === undefined) return update;
      const summary = Object.entries(update.snapshot['summary'] as Record<string, string>);
      return {
        ...update,
        snapshot: {
          ...update.snapshot,
          'snapshot-id': id,
          summary: Object.fromEntries(summary.filter(([name]) => !name.startsWith('sluice.'))),
        },
      };
    });
  const headers = Object.entries(init.headers as Record<string, string>);
  return {
    ...init,
    body: writeExactJson({ ...body, updates }),
    headers: Object.fromEntries(headers.filter(([name]) => name !== 'Idempotency-Key')),
  };
}
