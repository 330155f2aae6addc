import sql from 'sql-template-tag';
import type { Transaction } from '../../platform/postgres/database.ts';
import type { Engine } from '../engine.ts';
import type { Interval } from '../planning/interval.ts';
import type { Notice, NoticeRun } from '../notices/notice.ts';
import { writeNotice } from '../notices/write_notice.ts';
import type { ClaimedRun, RunEnd } from '../run.ts';
import { healthAfterRun } from './health.ts';
import type { ConditionChange } from './health.ts';
import { pauseAutomatically } from './pause_automatically.ts';
import { getHealth, listComparableRows, putHealth } from './store.ts';
import { hasVolume } from './has_volume.ts';
import { judgeVolume } from './volume.ts';
import type { VolumeJudgement } from './volume.ts';

type Facts = {
  revision: number;
  interval: Interval;
  timezone: string;
  paused: boolean;
  is_deleted: boolean;
  is_make_up: boolean;
  records_completed: number | null;
};

/**
 * Follows a run that has just ended into the health of its export, in the same transaction: notices
 * for what has changed, and the automatic pause after too many failures in a row. Runs of
 * backfills, of earlier revisions and of deleted exports are left out. The caller holds the lock on
 * the export's row; comes last, because it may append to the activity log.
 */
export async function followRun(
  engine: Engine,
  tx: Transaction,
  run: ClaimedRun,
  end: RunEnd,
): Promise<void> {
  if (run.backfill_id !== null) return;
  const facts = (await tx.row<Facts>(sql`
    SELECT e.revision, e."interval", e.timezone, e.paused, e.deleted_at IS NOT NULL AS is_deleted,
      r.is_make_up, r.records_completed
    FROM batch_export_runs r JOIN batch_exports e ON e.id = r.batch_export_id
      WHERE r.id = ${run.id}`))!;
  if (facts.is_deleted || facts.revision !== run.revision) return;
  const before = await getHealth(tx, run.batch_export_id, run.revision);
  const volume = await volumeOf(tx, run, end, facts);
  // What makes up for a backfill's run has an interval of that one, which says nothing of how far
  // the schedule is.
  const delivered_until = facts.is_make_up ? null : run.data_interval_end;
  const ended = {
    status: end.status,
    revision: run.revision,
    delivered_until,
    is_volume_unusual: volume?.is_unusual,
    has_rows: (facts.records_completed ?? 0) > 0,
  };
  const { health, changes } = healthAfterRun(before, ended);
  await putHealth(tx, run.batch_export_id, health);
  const told = noticeRun(run, end, facts);
  for (const change of changes)
    await writeNotice(tx, engine.clock, run.batch_export_id, noticeOf(change, told, volume));
  const hasFailed = end.status === 'Failed' || end.status === 'FailedRetryable';
  const isTooMuch =
    engine.pause_after_failures > 0 && health.consecutive_failures >= engine.pause_after_failures;
  if (hasFailed && isTooMuch && !facts.paused)
    await pauseAutomatically(engine, tx, run.batch_export_id, told, health.consecutive_failures);
}

async function volumeOf(
  tx: Transaction,
  run: ClaimedRun,
  end: RunEnd,
  facts: Facts,
): Promise<VolumeJudgement | undefined> {
  if (end.status !== 'Completed' || !hasVolume(run)) return undefined;
  const { interval, timezone } = facts;
  const [comparable] = await listComparableRows(tx, [{ ...run, interval, timezone }]);
  return judgeVolume(facts.records_completed ?? 0, comparable!);
}

function noticeRun(run: ClaimedRun, end: RunEnd, { records_completed }: Facts): NoticeRun {
  const { id, data_interval_start, data_interval_end } = run;
  const error =
    end.status === 'Completed'
      ? { error_code: null, latest_error: null }
      : { error_code: end.code, latest_error: end.message };
  return {
    id,
    status: end.status,
    ...error,
    data_interval_start,
    data_interval_end,
    records_completed,
  };
}

function noticeOf(
  change: ConditionChange,
  run: NoticeRun,
  volume: VolumeJudgement | undefined,
): Notice {
  const { condition, has_begun } = change;
  return {
    event: has_begun ? condition : 'recovered',
    detail: sentenceOf(change, run, volume),
    run,
    facts: {
      ...(has_begun ? {} : { recovered_from: condition }),
      ...(condition === 'unusual_volume' ? { usual: volume?.usual } : {}),
    },
  };
}

function sentenceOf(
  { condition, has_begun }: ConditionChange,
  run: NoticeRun,
  volume: VolumeJudgement | undefined,
): string {
  if (condition === 'failing') {
    return has_begun
      ? `A run of the export has failed: ${run.latest_error}`
      : 'A run of the export has completed again after failures.';
  }
  const usual =
    `${volume?.usual.low} to ${volume?.usual.high} are usual for runs like it (median ` +
    `${volume?.usual.median} of ${volume?.usual.runs})`;
  if (has_begun)
    return (
      `A run of the export has delivered ${run.records_completed} rows, where ${usual}. Every ` +
      'row at the source was delivered: look at what sends the events.'
    );
  return (
    `A run of the export has delivered ${run.records_completed} rows, a usual number again: ` +
    `${usual}.`
  );
}
