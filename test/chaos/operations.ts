import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import type { Site } from './deployment.ts';
import type { Random } from './random.ts';

/** A server on whose exports people act. */
export type Operated = Pick<Site, 'db' | 'call' | 'up'>;

/** Actions of people on the exports of a campaign, one after another. */
export type Operations = {
  /** Returns how often each action succeeded. */
  counts(): Record<string, number>;
  /** Resolves when the action in progress has ended. */
  stop(): Promise<void>;
};

type Operation = (
  deployment: Operated,
  random: Random,
  path: string,
  exportId: string,
) => Promise<boolean>;

const turn_ms_max = 600;

/** The path of an export in the API. */
export const exportPath = (id: string) => `/api/projects/@current/batch_exports/${id}`;

/**
 * Starts backfills, cancels, retries, pauses and unpauses with make-up at random until it is
 * stopped, and makes scheduled runs due every second or so instead of every five minutes. An action
 * that fails because a process is down does not count.
 */
export function startOperations(
  deployment: Operated,
  random: Random,
  exportIds: string[],
): Operations {
  const counts: Record<string, number> = {};
  let isStopping = false;
  const turn = async () => {
    const exportId = random.one(exportIds);
    const name = random.one(names);
    await comeDue(deployment, exportId);
    if (await operations[name](deployment, random, exportPath(exportId), exportId))
      counts[name] = (counts[name] ?? 0) + 1;
  };
  const run = async () => {
    while (!isStopping) {
      await turn().catch(() => undefined);
      await pause(random.between(50, turn_ms_max));
    }
  };
  const done = run();
  return {
    counts: () => counts,
    stop: async () => {
      isStopping = true;
      await done;
    },
  };
}

/**
 * Moves the end of the export's interval to now, so that the next scheduled run has all rows
 * inserted so far.
 */
export async function comeDue({ db }: Pick<Site, 'db'>, exportId: string): Promise<void> {
  await db.run(sql`
    UPDATE batch_exports SET next_run_at = date_trunc('milliseconds', clock_timestamp())
      WHERE id = ${exportId} AND NOT paused AND next_run_at > clock_timestamp()
      AND planned_until < clock_timestamp() - interval '1 millisecond'`);
}

const operations = {
  'backfill of what is missing': (deployment, random, path) =>
    backfill(deployment, random, path, 'missing'),
  'backfill of all': (deployment, random, path) => backfill(deployment, random, path, 'all'),
  'cancelled run': (deployment, random, path, id) =>
    toRun(deployment, random, `${path}/runs/`, id, 'cancel', ['Starting', 'Running']),
  'retried run': (deployment, random, path, id) =>
    toRun(deployment, random, `${path}/runs/`, id, 'retry', [
      'Failed',
      'FailedRetryable',
      'Cancelled',
    ]),
  pause: (deployment, _random, path) => succeeds(deployment, `${path}/pause/`, {}),
  unpause: (deployment, _random, path) =>
    succeeds(deployment, `${path}/unpause/`, { backfill: true }),
  'cancelled backfill': async (deployment, _random, path, id) => {
    const open = await deployment.db.row<{ id: string }>(
      sql`SELECT id FROM batch_export_backfills WHERE batch_export_id = ${id}
        AND finished_at IS NULL ORDER BY created_at DESC LIMIT 1`,
    );
    return open !== undefined && succeeds(deployment, `${path}/backfills/${open.id}/cancel/`, {});
  },
} satisfies Record<string, Operation>;

/** Each action is drawn as often as it is listed. */
const names: (keyof typeof operations)[] = [
  'backfill of what is missing',
  'backfill of what is missing',
  'backfill of what is missing',
  'backfill of all',
  'cancelled run',
  'cancelled run',
  'retried run',
  'retried run',
  'retried run',
  'pause',
  'unpause',
  'unpause',
  'cancelled backfill',
];

async function succeeds(deployment: Operated, path: string, body: unknown): Promise<boolean> {
  return (await deployment.call('POST', path, body)).status < 300;
}

const minute_ms = 60_000;

function backfill(
  deployment: Operated,
  random: Random,
  path: string,
  mode: 'missing' | 'all',
): Promise<boolean> {
  // Odd bounds: they cut intervals and the ranges of other backfills.
  const end = Date.now() - random.between(0, 60 * minute_ms);
  const start = end - random.between(1, mode === 'all' ? 10 * minute_ms : 60 * minute_ms);
  return succeeds(deployment, `${path}/backfill/`, {
    start_at: new Date(start).toISOString(),
    end_at: new Date(end).toISOString(),
    mode,
  });
}

async function toRun(
  deployment: Operated,
  random: Random,
  path: string,
  exportId: string,
  action: string,
  statuses: string[],
): Promise<boolean> {
  const found = await deployment.db.rows<{ id: string }>(sql`
    SELECT id FROM batch_export_runs WHERE batch_export_id = ${exportId}
      AND status = ANY (${statuses}) ORDER BY created_at DESC LIMIT 30`);
  return found.length > 0 && succeeds(deployment, `${path}${random.one(found).id}/${action}/`, {});
}
