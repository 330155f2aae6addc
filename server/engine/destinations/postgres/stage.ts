import type { Readable } from 'node:stream';
import { RetryableError } from '../../model/destination/errors.ts';
import type { Delivery, Slice, SliceOutcome } from '../../model/destination/destination.ts';
import { measured } from '../sql_tables/measured.ts';
import { columnList, isMerged, quoted } from '../sql_tables/layout.ts';
import { requireRecords } from '../sql_tables/staged_sink.ts';
import type { Connection } from '../sql_tables/postgres/connection.ts';
import { targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { mergeRows } from './table.ts';
import { endMove } from './transaction.ts';

/**
 * The stage of one delivery: an unlogged table beside the target, in which finished slices outlive
 * their attempt. Its comment names its attempt and its complete slices, and changes in the
 * transactions that add rows. All functions here work in the open transaction of the given
 * connection.
 */
export type Stage = {
  delivery: Delivery;
  target: string;
  quoted: string;
  /** Names this attempt in the comment. */ holder: string;
};

/**
 * A complete slice in the stage. It was copied in one transaction, so its rows have the `xmin`
 * `xid`: the stage needs no column for it, and rows are moved unchanged. They lie in the blocks
 * from `first_block` up to `end_block` (exclusive), except for rows that used free space before.
 */
export type StagedSlice = {
  records: number;
  bytes: number;
  xid: string;
  first_block: number;
  end_block: number;
};

type Note = { holder: string; slices: Record<number, StagedSlice> };

// PostgreSQL extends a table by up to 64 blocks, and the next COPY begins in the unused ones.
const left_over_blocks = 128;

/** Returns the stage of the delivery, whether or not it exists, as the attempt `holder` sees it. */
export function stageOf(config: PostgresConfig, delivery: Delivery, holder: string): Stage {
  const { schema, quoted: target } = targetOf(config);
  return {
    delivery,
    target,
    holder,
    quoted:
      `${quoted(schema)}.` + quoted(`sluice_stage_${delivery.delivery_id.replaceAll('-', '')}`),
  };
}

/** Returns true if the user may create tables in the schema of the target. */
export async function canStage(connection: Connection, config: PostgresConfig): Promise<boolean> {
  const [right] = await connection.rows<{ is_given: boolean }>(
    "SELECT has_schema_privilege($1, 'CREATE') AS is_given",
    [targetOf(config).schema],
  );
  return right?.is_given === true;
}

/**
 * Claims an earlier attempt's stage for this attempt, and returns the outcomes that it contains
 * completely; without any, the table is removed. From here on, the earlier attempt can stage and
 * show nothing, and its session that moved slices is ended.
 */
export async function takeStageOver(
  connection: Connection,
  stage: Stage,
  outcomes: SliceOutcome[],
): Promise<SliceOutcome[]> {
  const note = await findNote(connection, stage);
  if (note === undefined) return [];
  await endMove(connection, stage.delivery);
  const counted = await countSlices(connection, stage);
  const whole = outcomes.filter(({ number, records, bytes }) => {
    const noted = note.slices[number];
    return (
      noted?.bytes === bytes && noted.records === records && counted.get(noted.xid) === records
    );
  });
  if (whole.length === 0) {
    await dropStage(connection, stage);
    return [];
  }
  // Rows of other slices stay until the table is dropped: nobody reads them.
  await writeNote(connection, stage, {
    holder: stage.holder,
    slices: Object.fromEntries(whole.map(({ number }) => [number, note.slices[number]!])),
  });
  return whole;
}

/**
 * Creates an empty stage with the target's own types, so that it refuses a value that does not fit.
 * Large values are compressed once, when they are moved, as the target requires.
 */
export async function createStage(connection: Connection, stage: Stage): Promise<void> {
  await connection.run(
    `CREATE UNLOGGED TABLE ${stage.quoted} WITH (autovacuum_enabled = false) AS
      SELECT ${columnList(stage.delivery.columns)} FROM ${stage.target} WITH NO DATA`,
  );
  const compressed = await connection.rows<{ name: string }>(
    'SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass($1) ' +
      "AND attstorage = 'x'",
    [stage.quoted],
  );
  const alterations = compressed.map(
    ({ name }) => `ALTER COLUMN ${quoted(name)} SET STORAGE EXTERNAL`,
  );
  if (alterations.length > 0)
    await connection.run(`ALTER TABLE ${stage.quoted} ${alterations.join(', ')}`);
  await writeNote(connection, stage, { holder: stage.holder, slices: {} });
}

/**
 * Copies a slice into the stage. Throws `slice_lost` if another attempt has claimed the stage, and
 * `count_mismatch`. The commit need not wait for the disk: a crash of the server empties the stage
 * anyway.
 */
export async function stageSlice(
  connection: Connection,
  stage: Stage,
  slice: Slice,
  bytes: Readable,
): Promise<StagedSlice> {
  const note = await ownNote(connection, stage);
  await connection.run('SET LOCAL synchronous_commit = off');
  const before = await placeOf(connection, stage);
  let size = 0;
  const counted = await connection.copy(
    copyStatement(stage.quoted, stage.delivery),
    measured(bytes, (length) => (size += length)),
  );
  requireRecords(slice, counted);
  const after = await placeOf(connection, stage);
  const staged = {
    records: slice.records,
    bytes: size,
    xid: after.xid,
    first_block: Math.max(0, before.blocks - left_over_blocks),
    end_block: after.blocks,
  };
  await writeNote(connection, stage, {
    ...note,
    slices: { ...note.slices, [slice.number]: staged },
  });
  return staged;
}

/**
 * Moves a staged slice into the target. Throws `count_mismatch` if the target did not accept all of
 * it.
 */
export async function moveSlice(
  connection: Connection,
  stage: Stage,
  number: number,
  { records, xid, first_block, end_block }: StagedSlice,
): Promise<void> {
  const list = columnList(stage.delivery.columns);
  const move = (where: string) =>
    connection.run(
      `INSERT INTO ${stage.target} (${list}) SELECT ${list} FROM ${stage.quoted}
        WHERE xmin = '${xid}'::xid AND ${where}`,
    );
  // Uses the range of ctid: without it, each slice would read the whole stage.
  const moved = await move(`ctid >= '(${first_block},0)'::tid AND ctid < '(${end_block},0)'::tid`);
  const others =
    moved === records
      ? 0
      : await move(`(ctid < '(${first_block},0)'::tid OR ctid >= '(${end_block},0)'::tid)`);
  requireRecords({ number, records }, moved + others);
}

/**
 * Moves everything that is staged into the target and drops the stage; rows are merged in the order
 * of their keys. Throws like `listStaged` and `moveSlice`.
 */
export async function moveStage(connection: Connection, stage: Stage): Promise<void> {
  const staged = await listStaged(connection, stage);
  if (isMerged(stage.delivery)) {
    const xids = staged.map(([, { xid }]) => xid).join(',');
    const whole = `(SELECT * FROM ${stage.quoted} WHERE xmin = ANY ('{${xids}}'::xid[])) AS staged`;
    await mergeRows(connection, stage.target, whole, stage.delivery);
  } else {
    for (const [number, slice] of staged) await moveSlice(connection, stage, number, slice);
  }
  await dropStage(connection, stage);
}

/**
 * Returns the complete slices of the stage by number. Throws `slice_lost` if another attempt has
 * claimed it, or it is gone.
 */
export async function listStaged(
  connection: Connection,
  stage: Stage,
): Promise<[number, StagedSlice][]> {
  return Object.entries((await ownNote(connection, stage)).slices).map(([number, staged]) => [
    Number(number),
    staged,
  ]);
}

/** Removes the stage of any attempt. */
export async function dropStage(connection: Connection, stage: Stage): Promise<void> {
  await connection.run(`DROP TABLE IF EXISTS ${stage.quoted}`);
}

/** Returns the statement that copies the bytes of a slice into a table. */
export function copyStatement(table: string, delivery: Delivery): string {
  const list = columnList(delivery.columns);
  return `COPY ${table} (${list}) FROM STDIN WITH (FORMAT text, ENCODING 'UTF8')`;
}

/**
 * Copies or merges rows directly into the target, given by its quoted name, and returns their
 * number.
 */
export async function copyRows(
  connection: Connection,
  target: string,
  delivery: Delivery,
  bytes: Readable,
): Promise<number> {
  if (!isMerged(delivery)) return connection.copy(copyStatement(target, delivery), bytes);
  const stage = 'pg_temp.sluice_stage';
  const [there] = await connection.rows('SELECT 1 WHERE to_regclass($1) IS NOT NULL', [stage]);
  await connection.run(
    there === undefined
      ? `CREATE TEMPORARY TABLE sluice_stage ON COMMIT DROP AS
          SELECT ${columnList(delivery.columns)} FROM ${target} WITH NO DATA`
      : `TRUNCATE ${stage}`,
  );
  const copied = await connection.copy(copyStatement(stage, delivery), bytes);
  await mergeRows(connection, target, stage, delivery);
  return copied;
}

/** Returns the current number of the stage's blocks, and the id of the open transaction. */
async function placeOf(
  connection: Connection,
  stage: Stage,
): Promise<{ blocks: number; xid: string }> {
  const [place] = await connection.rows<{ blocks: number; xid: string }>(
    'SELECT (pg_relation_size(to_regclass($1)) / ' +
      "current_setting('block_size')::integer)::integer AS blocks, " +
      'pg_current_xact_id()::xid::text AS xid',
    [stage.quoted],
  );
  return place!;
}

/**
 * A restart of the server after a crash empties unlogged tables, so the note alone does not prove
 * that the rows exist.
 */
async function countSlices(connection: Connection, stage: Stage): Promise<Map<string, number>> {
  const rows = await connection.rows<{ xid: string; records: string }>(
    `SELECT xmin::text AS xid, count(*)::text AS records FROM ${stage.quoted} GROUP BY xmin`,
  );
  return new Map(rows.map(({ xid, records }) => [xid, Number(records)]));
}

async function ownNote(connection: Connection, stage: Stage): Promise<Note> {
  const note = await findNote(connection, stage);
  if (note?.holder === stage.holder) return note;
  throw new RetryableError(
    'slice_lost',
    'Another attempt works on this delivery, or somebody removed its stage table; the delivery ' +
      'continues with the present rows.',
  );
}

async function findNote(connection: Connection, stage: Stage): Promise<Note | undefined> {
  const [table] = await connection.rows<{ note: string | null }>(
    "SELECT obj_description(oid, 'pg_class') AS note FROM pg_class WHERE oid = to_regclass($1)",
    [stage.quoted],
  );
  if (table === undefined) return undefined;
  return JSON.parse(table.note ?? '{"holder":"","slices":{}}') as Note;
}

/**
 * The note only has our identifiers and numbers, so it needs no escapes. COMMENT takes a lock that
 * does not block readers of the table.
 */
async function writeNote(connection: Connection, stage: Stage, note: Note): Promise<void> {
  await connection.run(`COMMENT ON TABLE ${stage.quoted} IS '${JSON.stringify(note)}'`);
}
