import sql from 'sql-template-tag';
import { counted } from '../../../platform/counted.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { writeNotice } from '../../notices/write_notice.ts';
import { rest_column } from '../../model/schema/typed_relation.ts';
import type { TypedColumn } from '../../model/schema/typed_relation.ts';
import type { Notice } from '../../notices/notice.ts';
import type { ClaimedRun } from '../../model/run.ts';
import type { Engine } from '../engine.ts';
import type { Attempt } from './attempt.ts';

/** The columns in which two schemas of a model differ. */
type SchemaChanges = { schema_number: number; added: TypedColumn[]; removed: TypedColumn[] };

type Standing = { to: number; waits: boolean; changes: SchemaChanges | null };

/**
 * Notifies about a schema whose columns differ from the previous one: once per export and change,
 * in any number of runs. A waiting export keeps its columns, and the notice says how to accept the
 * new ones. The first typed run of an export sends no notice: all its columns are new.
 */
export async function tellSchemaChange({ engine, run }: Attempt): Promise<void> {
  if (!isTold(run)) return;
  const standing = await engine.db.row<Standing>(sql`
    SELECT number AS "to", e.new_columns = 'wait' AS waits,
      schema_changes(e.team_id, e.model, coalesce(e.schema_told, ${run.schema_number}), number)
        AS changes
    FROM batch_exports e JOIN projects p ON p.id = e.team_id CROSS JOIN LATERAL (
      SELECT CASE WHEN e.new_columns = 'wait' THEN p.schema_number ELSE ${run.schema_number} END
        AS number) newest
    WHERE e.id = ${run.batch_export_id} AND e.deleted_at IS NULL AND e.columns = 'typed'
      AND e.revision = ${run.revision} AND coalesce(e.schema_told, -1) < number`);
  if (standing === undefined) return;
  const { to, waits, changes } = standing;
  await engine.db.transaction(async (tx) => {
    const isFirst = await note(
      tx,
      sql`UPDATE batch_exports SET schema_told = ${to} WHERE id = ${run.batch_export_id}
        AND coalesce(schema_told, -1) < ${to} RETURNING id`,
    );
    if (!isFirst || changes === null) return;
    await tell(engine, tx, run, {
      detail: waits ? waitingSentence(changes) : changeSentence(changes),
      facts: { ...changes, waits },
    });
  });
}

/**
 * Notifies about values that fit no column of their property: once per export and schema.
 * `sentence` gives their number in a run.
 */
export async function tellMisfits(
  { engine, run }: Attempt,
  sentence: string,
  values: { property: string; values_unfit: number }[],
): Promise<void> {
  if (!isTold(run)) return;
  await engine.db.transaction(async (tx) => {
    const isFirst = await note(
      tx,
      sql`UPDATE batch_exports SET misfits_told = ${run.schema_number}
        WHERE id = ${run.batch_export_id} AND deleted_at IS NULL
          AND misfits_told IS DISTINCT FROM ${run.schema_number} RETURNING id`,
    );
    if (!isFirst) return;
    await tell(engine, tx, run, {
      detail: `${sentence} Sluice tells of it once for each schema: this is ${run.schema_number}.`,
      facts: { schema_number: run.schema_number, values_unfit: values, run_id: run.id },
    });
  });
}

/** Runs of backfills and erasures send no notice, as for every other state. */
function isTold({ schema_number, backfill_id, replaces }: ClaimedRun): boolean {
  return schema_number !== null && backfill_id === null && replaces === null;
}

async function note(tx: Transaction, statement: ReturnType<typeof sql>): Promise<boolean> {
  return (await tx.row(statement)) !== undefined;
}

function tell(
  { clock }: Engine,
  tx: Transaction,
  run: ClaimedRun,
  told: Pick<Notice, 'detail' | 'facts'>,
): Promise<void> {
  return writeNotice(tx, clock, run.batch_export_id, { event: 'schema_drift', run: null, ...told });
}

function changeSentence({ schema_number, added, removed }: SchemaChanges): string {
  const sentences = [
    added.length === 0 ? '' : `adds ${named(added)} to what the export delivers`,
    removed.length === 0 ? '' : `no longer fills ${named(removed)}: see ${rest_column}`,
  ].filter((one) => one !== '');
  return `Schema ${schema_number} ${sentences.join(', and ')}. Earlier rows stay as they are.`;
}

/** Returns a sentence with the waiting columns and the one action that accepts them. */
function waitingSentence({ schema_number, added, removed }: SchemaChanges): string {
  const parts = [
    added.length === 0 ? '' : `has ${named(added)}`,
    removed.length === 0 ? '' : `no longer has ${named(removed)}`,
  ].filter((one) => one !== '');
  return (
    `Schema ${schema_number} ${parts.join(' and ')}. The export waits: set its ` +
    `\`schema_number\` to ${schema_number} to take the change.`
  );
}

const named_max = 10;

/** Lists columns with their types: `2 columns (p_plan text, p_total float)`. */
function named(columns: TypedColumn[]): string {
  const names = columns.slice(0, named_max).map(({ column, type }) => `${column} ${type}`);
  const more = columns.length > named_max ? [`${columns.length - named_max} more`] : [];
  return `${counted(columns.length, 'column')} (${[...names, ...more].join(', ')})`;
}
