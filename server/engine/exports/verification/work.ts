import sql from 'sql-template-tag';
import { caughtUp } from '../../../platform/clickhouse/topology/caught_up.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { listUncertain } from '../../model/ledger/uncertain.ts';
import { delivered_columns } from '../../model/schema/run_columns.ts';
import { row_tables } from '../../model/removals/delete_rows.ts';
import type { Engine } from '../engine.ts';
import { compareDeliveries, newComparison } from './compare.ts';
import type { Comparing, Comparison } from './compare.ts';
import { countDeliveries, listDeliveries } from './deliveries.ts';
import type { DeliveryRun } from './deliveries.ts';
import { affordableRows } from './budget.ts';
import { findForeign, findStrangers } from './foreign.ts';
import { openLook, openWholeLook, sealed_deliveries_max } from './look.ts';
import type { Look as OpenLook } from './look.ts';
import { judge } from './judge.ts';
import type { Judged, Moment } from './judge.ts';
import type { LookedAtExport } from './missing_deliveries.ts';
import { endPart } from './part_end.ts';
import type { PartEnd } from './part_end.ts';
import { isMoving, listUnsettled } from './unsettled.ts';
import { claimVerification, fail, postpone, whileHeld } from './verification.ts';
import type { Verification } from './verification.ts';
import { standStill } from './watches.ts';
import { getDestination, part_deliveries_max, reasonOf } from './verify_exports.ts';
import { verifyPartsOf } from './verify_parts.ts';

/** Rows of one part, unless a single delivery has more. */
const part_records_max = 500_000;
/** Waits after failed parts, in seconds; after the last one the verification ends. */
const waits = [5, 15, 30, 60] as const;
/**
 * Number of times that a part with differences is compared again while rows are changed on purpose.
 */
const moving_tries_max = 40;
const moving_wait_seconds = 15;
const moving_detail =
  'An erasure, the retention or a rewrite changes rows of this project. Sluice compares these ' +
  'deliveries again when it is over.';
const moving_note =
  'An erasure, the retention or a rewrite changed rows of this project all the time, so the ' +
  'differences may come from there. Verify again when it is over.';

/**
 * Compares the next part of each waiting verification until none waits, and returns the number of
 * parts. Guarantees: after a kill, another process repeats only the current part. Two processes
 * never store the same part. A process reads one part at a time, the newest deliveries first. A
 * failing destination is retried, and the reason is shown. Scheduled looks run separately from
 * verifications of people.
 */
export async function workVerifications(
  engine: Engine,
  signal: AbortSignal,
  { is_scheduled = false }: { is_scheduled?: boolean } = {},
): Promise<number> {
  let done = 0;
  while (!signal.aborted) {
    const one = await claimVerification(engine, is_scheduled);
    if (one === undefined) break;
    await workPart(engine, one, signal);
    done += 1;
  }
  return done;
}

async function workPart(engine: Engine, one: Verification, signal: AbortSignal): Promise<void> {
  const row = await engine.db.row<LookedAtExport>(sql`
    SELECT id, name, team_id, model, custom_query, write_rule, revision, destination_type,
      destination_config, destination_secrets, timezone, ${delivered_columns}
    FROM batch_exports export
    WHERE id = ${one.batch_export_id} AND revision = ${one.revision} AND deleted_at IS NULL`);
  if (row === undefined)
    return fail(engine, one, 'The export was changed or deleted: verify it again.');
  const began = performance.now();
  const processor = process.cpuUsage();
  let rows = 0;
  const part = { records: 0 };
  try {
    const end = await whileHeld(
      engine,
      one,
      signal,
      () => Math.min(part.records, Math.floor(rows / 2)),
      (held) => {
        const onRow = () => void (rows += 1);
        const definition = getDestination(row.destination_type);
        const comparing = { engine, row, definition, signal: held, onRow };
        return caughtUp(engine.clickhouse, row_tables, () => comparePart(comparing, one, part));
      },
    );
    if (end === 'moving')
      await postpone(engine, one, { detail: moving_detail, seconds: moving_wait_seconds });
    else {
      const { user, system } = process.cpuUsage(processor);
      const took_ms = performance.now() - began;
      await endPart(engine, row, one, { ...end, took_ms, took_cpu_ms: (user + system) / 1_000 });
    }
  } catch (error) {
    await settle(engine, one, error, signal);
  }
}

async function comparePart(
  comparing: Comparing,
  one: Verification,
  part: { records: number },
): Promise<Omit<PartEnd, 'took_ms' | 'took_cpu_ms'> | 'moving'> {
  const { engine, row, signal } = comparing;
  const { db } = engine;
  const range = { ...one, id: row.id };
  const moment: Moment = {
    since: isoInstant(await databaseInstant(db)),
    unsettled: await listUnsettled(db),
  };
  const counted = one.deliveries === null ? await countDeliveries(db, range) : undefined;
  const { runs, is_last, comparison, look } = await compareNext(comparing, one, part);
  const judgeAll = (differences: Comparison['differences']) =>
    judge(engine, row, moment, { runs, differences }, signal);
  const judged = await judgeAll(comparison.differences);
  const is_round = one.start_at === null && one.end_at === null;
  if (is_last && (is_round || !one.is_scheduled))
    judged.push(...(await foreignNow(comparing, range, judgeAll, look)));
  if (is_last) judged.push(...(await listDoubts(engine, row.id)));
  if (judged.length > 0 && (await isMoving(db, row, moment.since))) {
    if (one.tries < moving_tries_max) return 'moving';
    comparison.notes.push(moving_note);
    comparison.is_unproven = true;
  }
  return { comparison, runs, judged, counted, is_last, look };
}

/** Compares the deliveries of the next part; a scheduled look reads what its seals require. */
async function compareNext(
  comparing: Comparing,
  one: Verification,
  part: { records: number },
): Promise<Pick<PartEnd, 'runs' | 'is_last' | 'comparison' | 'look'>> {
  const { definition } = comparing;
  const compare = async (limit: number | null) => {
    const { runs, is_last } = await nextRuns(comparing, one, limit);
    part.records = runs.reduce((sum, run) => sum + run.records, 0);
    const comparison = newComparison();
    const look = one.is_scheduled
      ? await openLook(comparing, runs, {
          rows_max: affordableRows(one.balance_ms / one.look_factor),
          needs_seals: limit === sealed_deliveries_max,
        })
      : openWholeLook(comparing);
    await compareDeliveries(comparing, runs, comparison, look);
    return { runs, is_last, comparison, look };
  };
  const { row } = comparing;
  const limit =
    verifyPartsOf(definition, row.write_rule) === undefined ? null : part_deliveries_max;
  if (!one.is_scheduled || limit !== null || definition.verify_areas === undefined)
    return compare(limit);
  const sealed =
    row.write_rule?.mode === 'merge' ? undefined : await compare(sealed_deliveries_max);
  // Rows of a merged or shared table do not identify their delivery, so all are compared at once.
  return sealed?.look.is_sealed === true ? sealed : compare(null);
}

/** Returns the deliveries of the next part: all of them if the destination is read as a whole. */
async function nextRuns(
  { engine, row }: Comparing,
  one: Verification,
  limit: number | null,
): Promise<{ runs: DeliveryRun[]; is_last: boolean }> {
  const range = { ...one, id: row.id };
  if (limit === null) {
    const all = one.is_scheduled ? { ...range, start_at: null, end_at: null } : range;
    const runs = await listDeliveries(engine.db, all, { after: null, limit });
    return { runs, is_last: true };
  }
  const listed = await listDeliveries(engine.db, range, { after: one.position, limit });
  let records = 0;
  const runs = listed.filter((run, index) => {
    records += run.records;
    return one.is_scheduled || index === 0 || records <= part_records_max;
  });
  return { runs, is_last: listed.length < limit && runs.length === listed.length };
}

/** Returns foreign objects that two looks found; others may get their receipt soon. */
async function foreignNow(
  comparing: Comparing,
  range: Parameters<typeof findForeign>[1],
  judgeAll: (differences: Comparison['differences']) => Promise<Judged[]>,
  look: OpenLook,
): Promise<Judged[]> {
  const find = () =>
    look.of_table === undefined
      ? findForeign(comparing, range)
      : findStrangers(comparing, look.of_table);
  const first = await judgeAll(await find());
  if (first.length === 0) return [];
  const again = await judgeAll(await find());
  const names = new Set(first.map(({ name }) => name));
  return again.filter(({ name }) => names.has(name));
}

/** Lists deliveries that the destination may or may not show. */
async function listDoubts({ db }: Engine, id: string): Promise<Judged[]> {
  return (await listUncertain(db, id)).map((one) => ({
    kind: 'uncertain',
    name: `delivery ${one.delivery_id}`,
    detail:
      'Its run ended during the commit, so the rows may be there or not: retry the run to find ' +
      'out.',
    run: { ...one, id: one.run_id, selects_by: 'inserted_at', schema_number: null, receipt: '' },
  }));
}

async function settle(
  engine: Engine,
  one: Verification,
  error: unknown,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return postpone(engine, one, { detail: null, seconds: 0 });
  if (one.is_scheduled) return standStill(engine, one, error);
  engine.log.warn(
    { err: error, verification: one.id, batch_export_id: one.batch_export_id },
    'a part of a verification failed',
  );
  const seconds = waits[one.tries];
  if (error instanceof NonRetryableError || seconds === undefined)
    return fail(engine, one, `${reasonOf(error)} Fix this, then verify again.`);
  const next = isoInstant(engine.clock.now() + seconds * 1_000);
  return postpone(engine, one, { detail: `${reasonOf(error)} Next try at ${next}.`, seconds });
}
