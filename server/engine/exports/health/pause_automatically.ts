import sql from 'sql-template-tag';
import { appendActivity, server_actor } from '../../../platform/activity/chain.ts';
import { changesOf } from '../../../platform/activity/changes.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import type { Engine } from '../engine.ts';
import type { NoticeRun } from '../../notices/notice.ts';
import { writeNotice } from '../../notices/write_notice.ts';

/**
 * Why the server paused an export: a code of a closed list, a sentence for people, and the time
 * (ISO 8601).
 */
export type PauseReason = {
  code: 'repeated_failures' | 'not_reconciled';
  detail: string;
  at: string;
};

type Paused = { name: string; last_paused_at: string | null; organization_id: string };

/**
 * Pauses an active export after failures in a row, the last of which is `run`; `followRuns` decides
 * that there were too many. Guarantee: the pause with its reason, the notice, the line in the
 * export's log and the server's entry in the activity log commit together with the end of the run.
 * The caller holds the lock on the export's row.
 */
export async function pauseAutomatically(
  engine: Engine,
  tx: Transaction,
  exportId: string,
  run: NoticeRun,
  failures: number,
): Promise<void> {
  const at = isoInstant(await databaseInstant(tx));
  const series = failures === 1 ? 'A run failed' : `${failures} runs in a row failed, the last`;
  const detail =
    `${series} with ${run.error_code}: ${run.latest_error} No further runs are planned. Remove ` +
    'the cause, then unpause the export; with "backfill": true it delivers the missed ' +
    'intervals.';
  const pause_reason: PauseReason = { code: 'repeated_failures', detail, at };
  const before = (await tx.row<Paused>(sql`
    SELECT e.name, e.last_paused_at, p.organization_id FROM batch_exports e JOIN projects p
      ON p.id = e.team_id WHERE e.id = ${exportId}`))!;
  await tx.run(sql`
    UPDATE batch_exports SET paused = true, last_paused_at = ${at},
      pause_reason = ${JSON.stringify(pause_reason)}::jsonb, schedule_changed_at = ${at},
      last_updated_at = now()
    WHERE id = ${exportId}`);
  await writeNotice(tx, engine.clock, exportId, {
    event: 'paused_automatically',
    detail: `The export was paused. ${detail}`,
    run,
    facts: { consecutive_failures: failures },
  });
  const changes = changesOf(
    { paused: false, last_paused_at: before.last_paused_at, pause_reason: null },
    { paused: true, last_paused_at: at, pause_reason },
  );
  const entry = {
    activity: 'paused',
    scope: 'batch_export',
    item_id: exportId,
    item_name: before.name,
    changes,
  };
  await appendActivity(
    tx,
    engine.secrets,
    { organization_id: before.organization_id },
    server_actor,
    entry,
  );
}
