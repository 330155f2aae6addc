import { Readable } from 'node:stream';
import { RetryableError } from '../../model/destination/errors.ts';
import { handOver } from '../../model/destination/hand_over.ts';
import type {
  Delivery,
  DestinationDeps,
  Manifest,
  Sink,
  Slice,
} from '../../model/destination/destination.ts';
import type { CommitAnswer } from '../sql_tables/commit.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import { isGeneration } from '../sql_tables/generations.ts';
import { inTransactions } from '../sql_tables/in_transactions.ts';
import { eraseRows, prepareTables } from '../sql_tables/prepare.ts';
import { findReceipt } from '../sql_tables/receipts.ts';
import { rejectedTable } from '../sql_tables/rejected/rejected_table.ts';
import { openStagedSink, requireCame } from '../sql_tables/staged_sink.ts';
import type { MySqlConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { mySqlDialect } from './dialect.ts';
import { mySqlError } from './faults.ts';
import { withFaults } from '../../model/destination/faults.ts';
import { hasFormFeed, lineChunks, lineCount, valueLists } from './rows.ts';
import { dropStages, createStage, stageOf, stageSlice, takeStageOver } from './stage.ts';
import type { Stage } from './stage.ts';
import { lockReplacing, showing, unlockReplacing } from './replace.ts';
import { columnList, insertStatement } from './table.ts';

/**
 * One attempt at a delivery. `is_open` is true during a transaction, and `is_loading` until the
 * server first warns of a load.
 */
type Session = {
  connection: Connection;
  dialect: Dialect;
  delivery: Delivery;
  stage: Stage;
  is_open: boolean;
  is_loading: boolean;
};

const lock_seconds_max = 60;
/** Larger statements are not faster. */
const statement_bytes = 1_000_000;
/** Bytes of one load, which are written again if the server warns. */
const load_bytes = 4_000_000;
/** For the statement around a row. */
const overhead_bytes = 64_000;

/**
 * Opens an attempt at a delivery. It only works while it holds the delivery's named lock, which
 * separates a dead worker's attempt from ours: the later holder sees the receipt that the earlier
 * one committed. Creating, renaming or dropping a table ends a transaction of MySQL, so it happens
 * before or after one.
 */
export async function openMySqlSink(
  config: MySqlConfig,
  delivery: Delivery,
  deps: DestinationDeps,
): Promise<Sink> {
  const connection = await withFaults(mySqlError, () => connect(config, deps));
  const session: Session = {
    connection,
    dialect: mySqlDialect(connection),
    delivery,
    stage: stageOf(connection, delivery),
    is_open: false,
    is_loading: connection.can_load,
  };
  const { dialect, stage } = session;
  const outside = <Result>(work: () => Promise<Result>) => outsideTransaction(session, work);
  return openStagedSink(
    inTransactions({
      name: connection.target.name,
      delivery,
      begin: () => takeLock(session),
      end: (statement) => letGo(session, statement),
      prepare: () => outside(async () => void (await prepareTables(dialect, delivery, deps))),
      // No transaction is open yet.
      takeOver: (outcomes) => takeStageOver(stage, outcomes),
      createStage: () => outside(() => createStage(stage)),
      stage: async (slice, bytes) =>
        stageSlice(stage, bytes, (into, counted) =>
          writeRows(session, slice, counted, { ...into, after: '' }),
        ),
      insert: (slice, bytes) => {
        const table = connection.target.quoted;
        const into = insertStatement(table, delivery);
        const load = into.after === '' ? { table, rest: '' } : undefined;
        return writeRows(session, slice, bytes, { ...into, row: '', load });
      },
      ...showing(dialect, stage, () => outside(() => lockReplacing(connection))),
      erase: (keys) => eraseRows(dialect, delivery, keys),
      rejected: rejectedTable(dialect, delivery),
      answerOf: answerOfCommit,
      isThere: (manifest) => isThere(session, manifest),
      dropStage: () => dropStages(stage),
      tidyUp: () => dropStages(stage),
      close: () => connection.close(),
    }),
    mySqlError,
    deps.log,
  );
}

function lockName({ delivery }: Session): string {
  return `sluice ${delivery.delivery_id}`;
}

async function takeLock(session: Session): Promise<boolean> {
  const { connection, dialect, delivery } = session;
  const [lock] = await connection.rows<{ is_ours: number | null }>(
    'SELECT GET_LOCK(?, ?) AS is_ours',
    [lockName(session), lock_seconds_max],
  );
  if (lock?.is_ours !== 1)
    throw new RetryableError(
      'locked',
      'Another worker has held this delivery for more than a minute.',
    );
  return (await findReceipt(dialect, delivery.delivery_id)) !== undefined;
}

async function isThere(
  { connection, dialect, delivery }: Session,
  { text }: Manifest,
): Promise<boolean> {
  await connection.run('ROLLBACK');
  return (await findReceipt(dialect, delivery.delivery_id)) === text;
}

/**
 * Judges the error of a COMMIT. After an error of the server, the session continues and holds the
 * named lock, so the receipt can be read back. A server that cut the session off has not answered.
 */
function answerOfCommit(error: unknown): CommitAnswer {
  const { code, sqlState } = error as { code?: unknown; sqlState?: unknown };
  // Errors of the client have none.
  if (typeof sqlState !== 'string' || sqlState.startsWith('08')) return 'nothing';
  if (code === 'ER_CONNECTION_KILLED' || code === 'ER_SERVER_SHUTDOWN') return 'nothing';
  return sqlState.startsWith('40') ? 'rolled_back' : 'ended';
}

async function letGo(session: Session, statement: 'COMMIT' | 'ROLLBACK'): Promise<void> {
  await session.connection.run(statement);
  session.is_open = false;
  // A lock that cannot be released ends with the session; committed changes stay.
  await session.connection.run('DO RELEASE_LOCK(?)', [lockName(session)]).catch(() => undefined);
  if (isGeneration(session.delivery)) await unlockReplacing(session.connection);
}

/**
 * The transaction that is opened afterwards has read the table, which fixes its columns; here it
 * waits at most a minute for another session's lock on it.
 */
async function outsideTransaction<Result>(
  session: Session,
  work: () => Promise<Result>,
): Promise<Result> {
  const { connection } = session;
  if (session.is_open) await connection.run('ROLLBACK');
  session.is_open = false;
  const result = await work();
  await connection.run('START TRANSACTION');
  session.is_open = true;
  await connection.rows(`SELECT 1 FROM ${connection.target.quoted} LIMIT 0`);
  return result;
}

/**
 * The SQL before and after the rows of an INSERT, the beginning of each row, and for rows that may
 * be loaded, the table and the SQL after its columns.
 */
type Into = {
  before: string;
  row: string;
  after: string;
  load?: { table: string; rest: string } | undefined;
};

async function writeRows(
  session: Session,
  slice: Slice,
  bytes: Readable,
  into: Into,
): Promise<void> {
  const { load } = into;
  let written = 0;
  if (load === undefined || !session.is_loading) written = await insertRows(session, bytes, into);
  else
    await handOver(lineChunks(bytes, load_bytes), async (lines) => {
      written += (await loadRows(session, lines, load))
        ? lineCount(lines)
        : await insertRows(session, Readable.from([lines]), into);
    });
  requireCame(slice, written);
}

/**
 * Loads the lines, which saves the server the parsing of SQL. In a load, a wrong value only causes
 * a warning. So after any warning or error, it removes the lines and returns false: an INSERT of
 * the same lines then reports the fault.
 */
async function loadRows(
  session: Session,
  lines: Buffer,
  { table, rest }: { table: string; rest: string },
): Promise<boolean> {
  const { connection, delivery } = session;
  if (!session.is_loading || lines.length > connection.statement_bytes_max) return false;
  if (hasFormFeed(lines)) return false;
  await connection.run('SAVEPOINT sluice_load');
  try {
    const loaded = await connection.load(
      `LOAD DATA LOCAL INFILE 'rows' INTO TABLE ${table} CHARACTER SET utf8mb4
        FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n'
        (${columnList(delivery.columns)})${rest}`,
      lines,
    );
    if (loaded === lineCount(lines)) return true;
  } catch (error) {
    if (answerOfCommit(error) !== 'ended') throw error;
  }
  await connection.run('ROLLBACK TO SAVEPOINT sluice_load');
  session.is_loading = false;
  return false;
}

async function insertRows(
  { connection, delivery }: Session,
  bytes: Readable,
  { before, row, after }: Into,
): Promise<number> {
  const row_bytes =
    connection.statement_bytes_max - Buffer.byteLength(before + after) - overhead_bytes;
  const limits = { bytes: Math.min(statement_bytes, row_bytes), row_bytes };
  let written = 0;
  const form = { escape: connection.escape, before: row };
  const lists = valueLists(delivery.columns, bytes, form, limits);
  await handOver(lists, async ({ text, records }) => {
    await connection.run(`${before}VALUES ${text}${after}`);
    written += records;
  });
  return written;
}
