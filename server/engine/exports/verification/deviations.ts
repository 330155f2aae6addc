import { hash } from 'node:crypto';
import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { isoInstant } from '../../../platform/clock.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { writeNotice } from '../../notices/write_notice.ts';
import { named_strangers_max } from '../../model/destination/difference.ts';
import { writeRunLog } from '../../model/run_log.ts';
import type { Engine } from '../engine.ts';
import { deviationSentence, noticeSentence } from './deviation_words.ts';
import type { ShownDeviation } from './deviation_words.ts';
import { doubtfulFrom } from './judge.ts';
import type { Judged } from './judge.ts';
import type { LookedAtExport } from './missing_deliveries.ts';
import type { Verification } from './verification.ts';

/** The result of a part: faults, and the checked deliveries. */
export type Found = {
  judged: Judged[];
  /** Deliveries that were compared, with or without a difference. */
  compared: string[];
  /** Deliveries with an earlier difference that the place still shows. */
  carried: string[];
  /**
   * True if rows or files outside all deliveries were searched too, and all deliveries were
   * checked.
   */
  is_complete: boolean;
  is_last: boolean;
};

type Open = { id: string; kind: string; delivery_id: string | null; mark: string };

/** Differences of one kind in one delivery, or in none. */
type Group = { kind: Judged['kind']; delivery_id: string | null; faults: [Judged, ...Judged[]] };

/**
 * Updates the findings of the export after a part: notifies once about new ones, keeps existing
 * ones, and resolves those of deliveries that were found correct. The caller has claimed the
 * verification.
 */
export async function enterDeviations(
  tx: Transaction,
  engine: Engine,
  row: LookedAtExport,
  one: Verification,
  found: Found,
): Promise<void> {
  const open = await tx.rows<Open>(sql`
    SELECT id, kind, delivery_id, mark FROM batch_export_deviations
    WHERE batch_export_id = ${row.id} AND resolved_at IS NULL`);
  const keyOf = ({ kind, delivery_id }: Pick<Open, 'kind' | 'delivery_id'>) =>
    `${kind} ${delivery_id}`;
  const before = new Map(open.map((deviation) => [keyOf(deviation), deviation]));
  const groups = groupsOf(found.judged);
  const now = isoInstant(engine.clock.now());
  const told: Group[] = [];
  const seen = new Set<string>();
  for (const group of groups) {
    const known = before.get(keyOf(group));
    if (known !== undefined) seen.add(known.id);
    if (known?.mark === markOf(group)) continue;
    told.push(group);
    await putDeviation(tx, row, one, group, known?.id, now);
  }
  const compared = new Set(found.compared);
  const carried = new Set(found.carried);
  for (const { id, delivery_id } of open)
    if (delivery_id !== null && carried.has(delivery_id)) seen.add(id);
  await tx.run(sql`UPDATE batch_export_deviations SET last_seen_at = ${now}
    WHERE id = ANY (${[...seen]}::uuid[])`);
  const isWhole = ({ id, kind, delivery_id }: Open) =>
    !seen.has(id) &&
    (kind === 'uncertain'
      ? found.is_last
      : delivery_id === null
        ? found.is_complete
        : compared.has(delivery_id));
  await resolve(tx, row, [
    ...open.filter(isWhole).map(({ id }) => id),
    ...(found.is_last ? await listLeft(tx, row) : []),
  ]);
  if (told.length > 0)
    await writeNotice(tx, engine.clock, row.id, {
      event: 'differing',
      detail: noticeSentence(row, told.map(shownOf)),
      run: null,
      facts: {
        deviations: told.map((group) => {
          const { kind, differences, start } = shownOf(group);
          return { kind, differences, day: start, delivery: group.delivery_id };
        }),
      },
    });
}

/** Resolves findings whose delivery has left the ledger: its rows are delivered again. */
async function listLeft(tx: Transaction, { id, revision }: LookedAtExport): Promise<string[]> {
  const rows = await tx.rows<{ id: string }>(sql`
    SELECT d.id FROM batch_export_deviations d WHERE d.batch_export_id = ${id}
      AND d.resolved_at IS NULL AND (d.revision <> ${revision} OR (d.kind <> 'uncertain'
        AND d.delivery_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM batch_export_runs r
          WHERE r.batch_export_id = ${id} AND r.status = 'Completed'
            AND r.generation IS DISTINCT FROM 'replaced' AND (r.id = d.delivery_id
              OR (r.delivery_id = d.delivery_id AND r.id <> r.delivery_id)))))`);
  return rows.map((row) => row.id);
}

async function resolve(tx: Transaction, row: LookedAtExport, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const resolved = await tx.rows<ShownDeviation>(
    sql`UPDATE batch_export_deviations SET resolved_at = now()
      WHERE id = ANY (${ids}::uuid[]) AND resolved_at IS NULL
      RETURNING kind, differences, data_interval_start AS start, data_interval_end AS "end"`,
  );
  for (const one of resolved)
    await writeRunLog(tx, {
      batch_export_id: row.id,
      run_id: null,
      level: 'INFO',
      message: `Found as delivered again: ${deviationSentence(row, one)}`,
    });
}

async function putDeviation(
  tx: Transaction,
  row: LookedAtExport,
  one: Verification,
  group: Group,
  known: string | undefined,
  now: string,
): Promise<void> {
  const [first] = group.faults;
  const { run } = first;
  const doubtful = doubtfulFrom(first, one.start_at);
  const doubtful_from = doubtful === -Infinity ? Number.MIN_SAFE_INTEGER : doubtful;
  const mark = markOf(group);
  const differences = countOf(group);
  if (known !== undefined)
    return void (await tx.run(sql`
      UPDATE batch_export_deviations SET differences = ${differences}, name = ${first.name},
        detail = ${first.detail}, mark = ${mark}, run_id = ${run?.id ?? null},
        doubtful_from = ${doubtful_from}::float8, accepted_at = NULL, accepted_by = NULL,
        accepted_reason = NULL
      WHERE id = ${known}`));
  await tx.run(sql`
    INSERT INTO batch_export_deviations (id, batch_export_id, revision, kind, delivery_id, run_id,
      data_interval_start, data_interval_end, selects_by, differences, name, detail, mark,
      doubtful_from, first_seen_at, last_seen_at)
    VALUES (${uuidv7()}, ${row.id}, ${row.revision}, ${group.kind}, ${group.delivery_id},
      ${run?.id ?? null}, ${run?.data_interval_start ?? null}, ${run?.data_interval_end ?? null},
      ${run?.selects_by ?? null}, ${differences}, ${first.name}, ${first.detail}, ${mark},
      ${doubtful_from}::float8, ${now}, ${now})`);
}

function groupsOf(judged: Judged[]): Group[] {
  const groups = Map.groupBy(judged, ({ kind, run }) => `${kind} ${run?.delivery_id}`);
  return [...groups.values()].map((faults) => {
    const [first, ...others] = faults as [Judged, ...Judged[]];
    const delivery_id = first.run?.delivery_id ?? null;
    return { kind: first.kind, delivery_id, faults: [first, ...others] };
  });
}

const shownOf = (group: Group) => ({
  kind: group.kind,
  differences: countOf(group),
  start: group.faults[0].run?.data_interval_start ?? null,
  end: group.faults[0].run?.data_interval_end ?? null,
});

const countOf = ({ faults }: Group) => faults.reduce((sum, { rows = 1 }) => sum + rows, 0);

/** Returns what two looks compare; of many foreign rows a look names only some, so their number. */
function markOf(group: Group): string {
  const { kind, faults } = group;
  if (kind === 'foreign' && countOf(group) > named_strangers_max)
    return hash('md5', `foreign:${countOf(group)}`);
  const lines = faults.map(({ name, detail, column, expected, found }) =>
    JSON.stringify([name, detail, column, expected, found]),
  );
  return hash('md5', lines.toSorted().join('\n'));
}

/**
 * Returns the earliest doubtful insertion, in milliseconds, of open findings that nobody has
 * accepted; null: none.
 */
export async function openDoubt(
  tx: Transaction,
  { id, revision }: Pick<LookedAtExport, 'id' | 'revision'>,
): Promise<number | null> {
  const row = await tx.row<{ at: number | null }>(sql`
    SELECT min(doubtful_from) AS at FROM batch_export_deviations
    WHERE batch_export_id = ${id} AND revision = ${revision} AND resolved_at IS NULL
      AND accepted_at IS NULL`);
  return row?.at ?? null;
}
