import { PgBoss } from 'pg-boss';

import type { Logger } from '../platform/log.ts';
import type { Transaction } from '../platform/postgres/database.ts';
import type { Jobs } from './jobs.ts';

/** The queue that carries run ids to workers. */
export const run_queue = 'batch_export_runs';

/** A job's payload. */
export type RunJob = { run_id: string };

/** A started pg-boss on the control store. */
export type Queue = {
  boss: PgBoss;
  jobs: Jobs;
  /** Waits until handlers in flight have returned, at most `timeout_ms`. */
  close(timeout_ms: number): Promise<void>;
};

/** A dead worker's run is given to another one this long after its last heartbeat (pg-boss allows no less). */
const heartbeat_seconds = 10;

/**
 * Starts pg-boss on a PostgreSQL URL and makes the queue. `supervise` is for processes with a worker: they look for dead workers once a second. Guarantee of `jobs.send`: the
 * job exists exactly when the caller's transaction commits.
 */
export async function openQueue(url: string, options: { supervise: boolean; log: Logger }): Promise<Queue> {
  const boss = new PgBoss({
    connectionString: url,
    application_name: 'sluice-queue',
    max: options.supervise ? 6 : 2,
    schedule: false,
    supervise: options.supervise,
    superviseIntervalSeconds: 1,
    monitorIntervalSeconds: 1,
    maintenanceIntervalSeconds: 300,
    useListenNotify: options.supervise,
    monitorVacuum: false,
  });
  boss.on('error', (error: Error) => options.log.warn({ err: error }, 'queue'));
  await boss.start();
  await boss.createQueue(run_queue, {
    policy: 'standard',
    notify: true,
    heartbeatSeconds: heartbeat_seconds,
    // A run of a day and more is handed on like that of a dead worker and continues at its first unfinished slice.
    expireInSeconds: 23 * 3600,
    // Only lost workers count here; failed attempts are counted in the run itself.
    retryLimit: 1000,
    retryDelay: 0,
    deleteAfterSeconds: 3600,
  });
  return {
    boss,
    jobs: { send: (tx, run) => send(boss, tx, run) },
    close: (timeout) => boss.stop({ graceful: true, timeout, close: true }),
  };
}

async function send(boss: PgBoss, tx: Transaction, run: { id: string; team_id: number; delay_seconds?: number }): Promise<void> {
  const db = { executeSql: (text: string, values?: unknown[]) => tx.text(text, values) };
  const job: RunJob = { run_id: run.id };
  await boss.send(run_queue, job, { db, group: { id: String(run.team_id) }, ...(run.delay_seconds === undefined ? {} : { startAfter: run.delay_seconds }) });
}
