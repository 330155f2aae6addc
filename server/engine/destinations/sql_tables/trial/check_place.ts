import { randomBytes, randomUUID } from 'node:crypto';
import { NonRetryableError } from '../../../model/destination/errors.ts';
import { tryOut } from '../../../model/destination/try_out.ts';
import type { Step } from '../../../model/destination/timed_steps.ts';
import type {
  CheckStep,
  Delivery,
  DestinationDeps,
} from '../../../model/destination/destination.ts';
import type { Dialect } from '../dialect.ts';
import type { FoundColumn } from '../fitting.ts';
import type { Layout } from '../layout.ts';
import { textsQuery } from '../prepare.ts';
import { newColumns, requireTypedColumns } from '../typed_columns.ts';
import { changedValues, testedLayout } from './sample_row.ts';
import type { SampleRow } from './sample_row.ts';

/** A connection test in one session, which leaves nothing behind. */
export type Trial<Session> = {
  /** The row that is written. */
  row: SampleRow;
  connect(): Promise<Session>;
  /** Begins the test in a session; returns a sentence about it. */
  begin(session: Session): Promise<string>;
  /** Checks the table, or creates it if that will be undone; returns a sentence about it. */
  look(session: Session): Promise<string>;
  /** Writes the row like a delivery; returns a sentence about its place. */
  write(session: Session): Promise<string>;
  /** Returns the texts of the rows read back, or a sentence on why none were read. */
  read(session: Session): Promise<unknown[][] | string>;
  remove(session: Session): Promise<void>;
  /** Steps of one kind of database, after the step that they name. */
  own?: { behind: string; name: string; run(session: Session): Promise<string> }[];
  /** Removes leftovers of a failed step. */
  tidyUp?(session: Session): Promise<void>;
  /** Returns the error for values that were read back differently, which `changed` lists. */
  changedError?(changed: string): NonRetryableError;
};

/** The wording of errors: that of `explained`, or `refused` without an error. */
type Telling = { explained: (error: unknown) => unknown; refused: string };

/**
 * Runs the steps of a delivery of one row, up to reading the values back, and reports each step.
 */
export async function checkPlace<Session extends Pick<Dialect, 'target' | 'close'>>(
  trial: Trial<Session>,
  { explained, refused }: Telling,
  deps: DestinationDeps,
): Promise<CheckStep[]> {
  let opened: Session | undefined;
  let is_removed = false;
  const session = async () => (opened ??= await trial.connect());
  const step = (name: string, run: (session: Session) => Promise<string>): Step[] => [
    { name, run: async () => run(await session()) },
    ...(trial.own ?? [])
      .filter(({ behind }) => behind === name)
      .map((one) => ({ name: one.name, run: async () => one.run(await session()) })),
  ];
  const steps = [
    ...step('Connect', trial.begin),
    ...step('Check the table', trial.look),
    ...step('Write a row', trial.write),
    ...step('Read it back', async (at) => {
      const found = await trial.read(at);
      if (typeof found === 'string') return found;
      for (const values of found) requireSame(trial, values, at.target.name);
      return `The same values came back${found.length > 1 ? ', in all rows' : ''}.`;
    }),
    ...step('Remove it', async (at) => {
      await trial.remove(at);
      is_removed = true;
      return 'Nothing was left behind.';
    }),
  ];
  try {
    return await tryOut(steps, deps, explained, refused);
  } finally {
    if (opened !== undefined && !is_removed)
      await trial
        .tidyUp?.(opened)
        .catch((error: unknown) =>
          deps.log.warn({ err: explained(error) }, 'parts of a connection test may be left behind'),
        );
    await opened?.close();
  }
}

function requireSame<Session>(
  { row, changedError }: Trial<Session>,
  found: readonly unknown[],
  table: string,
): void {
  const changed = changedValues(row, found);
  if (changed === undefined) return;
  throw (
    changedError?.(changed) ??
    new NonRetryableError(
      'table_unsuitable',
      `The table ${table} changes values of the columns ${changed}; change their types, look at ` +
        'its triggers and policies, or export to another table.',
    )
  );
}

/** Returns a unique name for the table of one test. */
export function scratchName(): string {
  return `sluice_check_${randomBytes(6).toString('hex')}`;
}

/** Checks the table of the export and does not create it; `found` is undefined if it is missing. */
export async function lookAtTable(
  { target, findColumns, checkTable, typed }: Dialect,
  row: Pick<Layout, 'columns' | 'merge'>,
): Promise<{ found: FoundColumn[] | undefined; told: string }> {
  const found = await findColumns(target.table);
  if (found === undefined)
    return { found, told: `${target.name} is missing; the first delivery creates it.` };
  const lacking = newColumns(row, found);
  const layout = testedLayout({
    ...row,
    columns: row.columns.filter((column) => !lacking.includes(column)),
  });
  const warning = await checkTable(layout, found);
  requireTypedColumns({ target, typed }, layout, found);
  if (lacking.length > 0)
    return {
      found,
      told:
        `${target.name} gets the columns ${lacking.map(({ name }) => name).join(', ')} with ` +
        'the first delivery.',
    };
  return { found, told: warning ?? `${target.name} can take the columns of the export.` };
}

/** Reads the rows of a relation with such columns, as texts. */
export async function readTexts(
  dialect: Dialect,
  relation: string,
  columns: Layout['columns'],
  found: FoundColumn[],
): Promise<unknown[][]> {
  const layout: Layout = { model: 'events', columns };
  const rows = await dialect.rows<Record<string, unknown>>(
    textsQuery(dialect, relation, layout, found),
  );
  return rows.map((row) => columns.map((_, index) => row[`c${index}`]));
}

/** Returns a unique delivery for a test. */
export function testedDelivery(row: Pick<Layout, 'columns' | 'merge'>): Delivery {
  const id = randomUUID();
  const [data_interval_start, data_interval_end] = ['2026-01-02T03:00:00Z', '2026-01-02T04:00:00Z'];
  return {
    ...testedLayout(row),
    delivery_id: id,
    run_id: id,
    attempt: 1,
    batch_export_id: randomUUID(),
    team_id: 1,
    data_interval_start,
    data_interval_end,
    timezone: 'UTC',
  };
}
