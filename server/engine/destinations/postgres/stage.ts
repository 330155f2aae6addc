import type { Readable } from 'node:stream';
import type { Delivery, Slice, SliceOutcome } from '../../destination.ts';
import { isMerged, quoted } from '../../sql_tables/layout.ts';
import { measured } from '../../sql_tables/measured.ts';
import type { Connection } from '../../sql_tables/postgres_connection.ts';
import { freeName, stageLost, stagePrefix } from '../../sql_tables/stages.ts';
import { requireMoved, requireRecords } from '../../sql_tables/staged_sink.ts';
import { targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { mergeStatement } from './table.ts';

/**
 * The stage of one delivery: an unlogged table beside the target, in which finished slices outlive the attempt that wrote them. Its comment says which attempt it belongs to and which
 * slices are whole, and changes in the transactions that change its rows. All functions here work in the open transaction, under the delivery's lock.
 */
export type Stage = { connection: Connection; delivery: Delivery; target: string; quoted: string; /** Names this attempt in the comment. */ holder: string };

type Note = { holder: string; slices: Record<number, { records: number; bytes: number }> };

/** The stage that belongs to the delivery, whether it is there or not, as this attempt sees it. */
export function stageOf(connection: Connection, config: PostgresConfig, delivery: Delivery, holder: string): Stage {
  const { schema, quoted: target } = targetOf(config);
  return { connection, delivery, target, holder, quoted: `${quoted(schema)}.${quoted(stagePrefix(delivery))}` };
}

/** Makes the stage, which has the target's own types, so a value that does not fit is refused when it is staged. False where the user may not make tables in the schema of the target. */
export async function makeStage(stage: Stage, config: PostgresConfig): Promise<boolean> {
  if (!(await canStage(stage.connection, config))) return false;
  await stage.connection.run(
    `CREATE UNLOGGED TABLE ${stage.quoted} WITH (autovacuum_enabled = false) AS SELECT 0 AS ${sliceColumn(stage)}, ${columnList(stage.delivery)} FROM ${stage.target} WITH NO DATA`,
  );
  await writeNote(stage, { holder: stage.holder, slices: {} });
  return true;
}

async function canStage(connection: Connection, config: PostgresConfig): Promise<boolean> {
  const [right] = await connection.rows<{ is_given: boolean }>("SELECT has_schema_privilege($1, 'CREATE') AS is_given", [targetOf(config).schema]);
  return right?.is_given === true;
}

/**
 * Makes this attempt the owner of what an earlier one has staged, and gives those of the outcomes that are there and whole; everything else is removed, the table too when nothing is left.
 * From here on the earlier attempt can stage nothing more.
 */
export async function takeStageOver(stage: Stage, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  const note = await findNote(stage);
  if (note === undefined) return [];
  const counted = await countSlices(stage);
  const whole = outcomes.filter(({ number, records, bytes }) => {
    const noted = note.slices[number];
    return noted?.bytes === bytes && noted.records === records && counted.get(number) === records;
  });
  if (whole.length === 0) {
    await dropStage(stage);
    return [];
  }
  const numbers = whole.map(({ number }) => number);
  if ([...counted.keys()].some((number) => !numbers.includes(number)))
    await stage.connection.run(`DELETE FROM ${stage.quoted} WHERE ${sliceColumn(stage)} NOT IN (${numbers.join(', ')})`);
  await writeNote(stage, { holder: stage.holder, slices: Object.fromEntries(whole.map(({ number, records, bytes }) => [number, { records, bytes }])) });
  return whole;
}

/** Copies a slice into the stage. Throws `slice_lost` when another attempt has taken the stage over, and `count_mismatch`. */
export async function stageSlice(stage: Stage, slice: Slice, bytes: Readable): Promise<void> {
  const note = await ownNote(stage);
  // COPY has no constants: the number of the slice is the column's default for this transaction.
  await stage.connection.run(`ALTER TABLE ${stage.quoted} ALTER COLUMN ${sliceColumn(stage)} SET DEFAULT ${slice.number}`);
  let size = 0;
  const counted = await stage.connection.copy(
    `COPY ${stage.quoted} (${columnList(stage.delivery)}) FROM STDIN WITH (FORMAT text, ENCODING 'UTF8')`,
    measured(bytes, (length) => (size += length)),
  );
  requireRecords(slice, counted);
  await writeNote(stage, { ...note, slices: { ...note.slices, [slice.number]: { records: slice.records, bytes: size } } });
}

/** Moves everything that is staged into the target and drops the stage. Throws `slice_lost` when another attempt has taken it over, and `count_mismatch` when the target did not take all. */
export async function moveStage(stage: Stage): Promise<void> {
  const { slices } = await ownNote(stage);
  const list = columnList(stage.delivery);
  if (isMerged(stage.delivery)) {
    await stage.connection.run(mergeStatement(stage.target, stage.quoted, stage.delivery.columns));
  } else {
    const moved = await stage.connection.run(`INSERT INTO ${stage.target} (${list}) SELECT ${list} FROM ${stage.quoted}`);
    requireMoved(
      Object.values(slices).reduce((sum, { records }) => sum + records, 0),
      moved,
    );
  }
  await dropStage(stage);
}

/** Removes the stage, whoever made it. */
export async function dropStage(stage: Stage): Promise<void> {
  await stage.connection.run(`DROP TABLE IF EXISTS ${stage.quoted}`);
}

/** The columns of the export as a list of identifiers. */
export function columnList(delivery: Delivery): string {
  return delivery.columns.map(({ name }) => quoted(name)).join(', ');
}

function sliceColumn({ delivery }: Stage): string {
  return quoted(
    freeName(
      'sluice_slice',
      delivery.columns.map(({ name }) => name),
    ),
  );
}

/** A restart of the server after a crash empties unlogged tables, so the note alone does not prove that the rows are there. */
async function countSlices(stage: Stage): Promise<Map<number, number>> {
  const rows = await stage.connection.rows<{ number: number; records: string }>(
    `SELECT ${sliceColumn(stage)} AS number, count(*)::text AS records FROM ${stage.quoted} GROUP BY 1`,
  );
  return new Map(rows.map(({ number, records }) => [number, Number(records)]));
}

async function ownNote(stage: Stage): Promise<Note> {
  const note = await findNote(stage);
  if (note?.holder === stage.holder) return note;
  throw stageLost();
}

async function findNote(stage: Stage): Promise<Note | undefined> {
  const [table] = await stage.connection.rows<{ note: string | null }>(
    "SELECT obj_description(oid, 'pg_class') AS note FROM pg_class WHERE oid = to_regclass($1)",
    [stage.quoted],
  );
  if (table === undefined) return undefined;
  return JSON.parse(table.note ?? '{"holder":"","slices":{}}') as Note;
}

/** The note holds identifiers of ours and numbers, so nothing in it needs an escape. */
async function writeNote(stage: Stage, note: Note): Promise<void> {
  await stage.connection.run(`COMMENT ON TABLE ${stage.quoted} IS '${JSON.stringify(note)}'`);
}
