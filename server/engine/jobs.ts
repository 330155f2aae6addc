import type { Transaction } from '../platform/postgres/database.ts';

/** The way from a planned run to a worker. The truth is the row in `batch_export_runs`; a job only carries its id. */
export type Jobs = {
  /** Sends the run to the workers when the transaction commits, and not at all when it rolls back; `delay_seconds` holds it back for a pause between attempts. */
  send(tx: Transaction, run: { id: string; team_id: number; delay_seconds?: number }): Promise<void>;
};
