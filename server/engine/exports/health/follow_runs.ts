import type { Transaction } from '../../../platform/postgres/database.ts';
import type { Engine } from '../engine.ts';
import type { Interval } from '../planning/interval.ts';
import type { Notice, NoticeRun } from '../../notices/notice.ts';
import { writeNotices } from '../../notices/write_notice.ts';
import type { ClaimedRun, RowAges, RunEnd } from '../../model/run.ts';
import { findFailedBackfills } from './failed_backfills.ts';
import { findFailedIntervals } from './failed_intervals.ts';
import { healthAfterRun, healthInRevision } from './health.ts';
import type { ConditionChange, Health } from './health.ts';
import { lessenLacking } from './lacking.ts';
import { pauseAutomatically } from './pause_automatically.ts';
import { listComparableRows, listHealth, putHealths } from './store.ts';
import { hasVolume } from './has_volume.ts';
import { judgeVolume } from './volume.ts';
import type { VolumeJudgement } from './volume.ts';
import { counted } from '../../../platform/counted.ts';

/** A run that has just ended, and its export, whose row is locked. */
export type FollowedRun = RowAges & {
  run: Pick<
    ClaimedRun,
    | 'id'
    | 'batch_export_id'
    | 'delivery_id'
    | 'revision'
    | 'backfill_id'
    | 'replaces'
    | 'selection'
    | 'data_interval_start'
    | 'data_interval_end'
  >;
  end: RunEnd;
  is_make_up: boolean;
  records_completed: number | null;
  records_rejected: number;
  export: {
    revision: number;
    interval: Interval;
    timezone: string;
    paused: boolean;
    is_deleted: boolean;
  };
};

/**
 * Updates the health of exports after runs that have just ended, in the same transaction: notices
 * for changes, and the automatic pause after too many failures in a row. Ignores runs of earlier
 * revisions and of deleted exports. Runs of backfills and erasures only update what is still
 * missing. The caller holds the locks on the exports' rows and calls this last. A call that may
 * append to the activity log has one run only.
 */
export async function followRuns(
  engine: Engine,
  tx: Transaction,
  ended: FollowedRun[],
): Promise<void> {
  const present = ended.filter(
    ({ run, export: of }) => !of.is_deleted && of.revision === run.revision,
  );
  if (present.length === 0) return;
  const volumes = await listVolumes(tx, present.filter(isOfSchedule));
  const before = await listHealth(
    tx,
    present.map(({ run }) => run),
  );
  await lessenLacking(
    tx,
    present.filter(({ end }, at) => end.status === 'Completed' && before[at]!.lacks_earlier),
  );
  const followed = await listFollowed(tx, present, before);
  if (followed.length === 0) return;
  const after = followed.map((one) => ({
    one,
    ...healthAfter(one, volumes.get(one.ended)),
  }));
  await putHealths(
    tx,
    after.map(({ one: { ended: of }, health }) => ({
      ...health,
      batch_export_id: of.run.batch_export_id,
      run_id: of.run.id,
    })),
  );
  const notices = after.flatMap(({ one: { ended: of }, changes }) =>
    changes.map((change) => ({
      ...noticeOf(change, noticeRun(of), volumes.get(of)),
      batch_export_id: of.run.batch_export_id,
    })),
  );
  await writeNotices(tx, engine.clock, notices);
  for (const { one, health } of after)
    if (isOfSchedule(one.ended))
      await pauseAfter(engine, tx, one.ended, health.consecutive_failures);
}

const isOfSchedule = ({ run }: FollowedRun): boolean =>
  run.backfill_id === null && run.replaces === null;
const hasFailed = ({ end: { status } }: FollowedRun): boolean =>
  status === 'Failed' || status === 'FailedRetryable';
const isFailedBackfill = (one: FollowedRun): boolean =>
  one.run.backfill_id !== null && hasFailed(one);

/** A run that has ended, its export's health before it, and what is missing now. */
type Followed = {
  ended: FollowedRun;
  before: Health;
  is_incomplete: boolean;
  lacks_backfilled: boolean;
};

/**
 * Lists the runs that may change what is missing. If neither this run nor an earlier one has
 * failed, nothing is missing, and the search is skipped.
 */
async function listFollowed(
  tx: Transaction,
  ended: FollowedRun[],
  healths: Health[],
): Promise<Followed[]> {
  const followed = ended
    .map((one, at) => ({
      ended: one,
      before: healthInRevision(healths[at]!, one.run.revision),
    }))
    .filter(
      ({ ended: one, before: { is_incomplete, lacks_backfilled } }) =>
        isOfSchedule(one) || is_incomplete || lacks_backfilled || isFailedBackfill(one),
    );
  const looked = (isLooked: (one: FollowedRun, before: Health) => boolean) =>
    followed
      .filter(({ ended: one, before }) => isLooked(one, before))
      .map(({ ended: { run } }) => ({ id: run.batch_export_id, revision: run.revision }));
  const missing = await findFailedIntervals(
    tx,
    looked((one, { is_failing, is_incomplete }) => hasFailed(one) || is_failing || is_incomplete),
  );
  const backfills = await findFailedBackfills(
    tx,
    looked((one, { lacks_backfilled }) => lacks_backfilled || isFailedBackfill(one)),
  );
  return followed.map((one) => ({
    ...one,
    is_incomplete: missing.has(one.ended.run.batch_export_id),
    lacks_backfilled: backfills.has(one.ended.run.batch_export_id),
  }));
}

function healthAfter(
  { ended, before, is_incomplete, lacks_backfilled }: Followed,
  volume: VolumeJudgement | undefined,
): ReturnType<typeof healthAfterRun> {
  if (!isOfSchedule(ended))
    return { health: { ...before, is_incomplete, lacks_backfilled }, changes: [] };
  const { run, end, is_make_up, records_completed, records_rejected } = ended;
  const { oldest_row_seconds, newest_row_seconds } = ended;
  return healthAfterRun(before, {
    is_incomplete,
    lacks_backfilled,
    status: end.status,
    revision: run.revision,
    // A make-up run of a backfill has the backfill's interval, which says nothing about the
    // progress of the schedule.
    delivered_until: is_make_up ? null : run.data_interval_end,
    is_volume_unusual: volume?.is_unusual,
    has_rows: (records_completed ?? 0) + records_rejected > 0,
    has_rejected: records_rejected > 0,
    row_ages: { oldest_row_seconds, newest_row_seconds },
  });
}

async function pauseAfter(
  engine: Engine,
  tx: Transaction,
  one: FollowedRun,
  failures: number,
): Promise<void> {
  const isTooMuch = engine.pause_after_failures > 0 && failures >= engine.pause_after_failures;
  if (hasFailed(one) && isTooMuch && !one.export.paused)
    await pauseAutomatically(engine, tx, one.run.batch_export_id, noticeRun(one), failures);
}

async function listVolumes(
  tx: Transaction,
  followed: FollowedRun[],
): Promise<Map<FollowedRun, VolumeJudgement | undefined>> {
  const judged = followed.filter(({ run, end }) => end.status === 'Completed' && hasVolume(run));
  if (judged.length === 0) return new Map();
  const comparable = await listComparableRows(
    tx,
    judged.map(({ run, export: of }) => ({ ...run, ...of })),
  );
  return new Map(
    judged.map((one, index) => [one, judgeVolume(one.records_completed ?? 0, comparable[index]!)]),
  );
}

function noticeRun({ run, end, records_completed, records_rejected }: FollowedRun): NoticeRun {
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
    records_rejected,
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
      ? `Failing: a run of the export failed. ${run.latest_error}`
      : 'No longer failing: a run of the export has completed.';
  }
  if (condition === 'rejecting')
    return has_begun
      ? `Partly delivered: the destination refused ${counted(run.records_rejected, 'row')} of a ` +
          'run. They are set aside beside the table, each with the reason; the others were ' +
          'delivered.'
      : 'The destination accepted all rows of a run again.';
  const usual =
    `${volume?.usual.low} to ${volume?.usual.high} are usual for runs like it (median ` +
    `${volume?.usual.median} of ${volume?.usual.runs})`;
  if (has_begun)
    return (
      `Unusual volume: a run has delivered ${counted(run.records_completed ?? 0, 'row')}, where ` +
      `${usual}. ` +
      (run.records_rejected === 0
        ? 'Every row at the source was delivered: look at what sends the events.'
        : `The destination refused ${run.records_rejected} more, which are set aside.`)
    );
  return (
    `A run of the export has delivered ${counted(run.records_completed ?? 0, 'row')}, a usual ` +
    'number again: ' +
    `${usual}.`
  );
}
