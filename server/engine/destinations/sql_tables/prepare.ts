import type { Delivery, DestinationDeps } from '../../model/destination/destination.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { isWithin } from './comparing/areas.ts';
import type { Dialect } from './dialect.ts';
import type { FoundColumn } from './fitting.ts';
import { erasedColumn, hasOwn, isMergedByTeam } from './layout.ts';
import type { Layout } from './layout.ts';
import { receiptsOf, receipts_table } from './receipts.ts';
import { requireRejectedTable } from './rejected/rejected_table.ts';
import { rejectedName } from './target.ts';
import { addNewColumns, requireTypedColumns } from './typed_columns.ts';

/**
 * Creates the missing tables: the export's, that of the receipts and, for a delivery that sets rows
 * aside, that of the rejected rows. Adds new typed columns, and refuses unsuitable tables before
 * anything is written. An existing table is not created again: even IF NOT EXISTS needs the right
 * to create one; `refuseLoss` is called before. Returns the columns of the table, whether some were
 * added, and a warning if one changes values.
 */
export async function prepareTables(
  dialect: Dialect,
  delivery: Layout & Pick<Delivery, 'batch_export_id' | 'rejects'>,
  { warn, refuseLoss }: Pick<DestinationDeps, 'warn' | 'refuseLoss'> = {},
): Promise<{ found: FoundColumn[]; is_altered: boolean; warning: string | undefined }> {
  const { target, findColumns, receipts, rejected } = dialect;
  await dialect.requireSchema?.();
  let found = await findColumns(target.table);
  const has_receipts = (await findColumns(receipts_table)) !== undefined;
  if (found === undefined) {
    if (has_receipts && refuseLoss !== undefined)
      await refuseLostRows(dialect, delivery, refuseLoss);
    await dialect.createTable(delivery);
    found = await findColumns(target.table);
  }
  if (!has_receipts) await receipts.create();
  const is_altered = await addNewColumns(dialect, delivery, found ?? []);
  if (is_altered) found = await findColumns(target.table);
  if (dialect.lockTable !== undefined) {
    await dialect.lockTable();
    found = await findColumns(target.table);
  }
  const warning = await dialect.checkTable(delivery, found ?? []);
  if (warning !== undefined) warn?.(warning);
  requireTypedColumns(dialect, delivery, found ?? []);
  if (rejected !== undefined && delivery.rejects !== undefined) {
    const table = rejectedName(target.table);
    if ((await findColumns(table)) === undefined) await rejected.create();
    await rejected.requireKind?.();
    requireRejectedTable(rejectedName(target.name), (await findColumns(table)) ?? []);
  }
  return { found: found ?? [], is_altered, warning };
}

/** Asks whether somebody dropped or renamed the table and its rows are now missing. */
async function refuseLostRows(
  dialect: Dialect,
  { batch_export_id }: Pick<Delivery, 'batch_export_id'>,
  refuseLoss: NonNullable<DestinationDeps['refuseLoss']>,
): Promise<void> {
  const deliveries = await receiptsOf(dialect).ofExport(batch_export_id);
  if (deliveries.length > 0) await refuseLoss(dialect.target.name);
}

/**
 * Deletes rows of the table by the column of the erased keys, and by the project if rows contain
 * it, in the open transaction.
 */
export async function eraseRows(
  dialect: Dialect,
  delivery: Delivery,
  keys: string[],
): Promise<void> {
  const { target, quoted, slot, rows } = dialect;
  const list = keys.map((_, index) => slot(index + 1)).join(', ');
  // The server uses the column's own type for the values, and so its index.
  const key = quoted(erasedColumn(delivery));
  const own = delivery.repairs === undefined ? '' : await ofDelivery(dialect, delivery);
  const statement = `DELETE FROM ${target.quoted} WHERE ${key} IN (${list})${own}`;
  await (hasOwn(delivery.columns, 'team_id')
    ? rows(`${statement} AND ${quoted('team_id')} = ${slot(keys.length + 1)}`, [
        ...keys,
        delivery.team_id,
      ])
    : rows(statement, keys));
}

/**
 * Returns the condition for the rows of this delivery: another one may have written another version
 * of a key. Throws if it cannot identify the rows.
 */
async function ofDelivery(dialect: Dialect, delivery: Delivery): Promise<string> {
  const { target, sealing, quoted } = dialect;
  const other = await receiptsOf(dialect).ofAnother(delivery.batch_export_id);
  const found = (await dialect.findColumns(target.table)) ?? [];
  const hasInstant = (name: string) =>
    found.some((column) => column.name === name && sealing?.instants.test(column.type) === true);
  if (sealing === undefined || other !== undefined || !instants.every(hasInstant))
    throw new NonRetryableError(
      'table_unsuitable',
      `${target.name} ${
        other === undefined
          ? 'has no exact times in the columns timestamp and inserted_at'
          : 'holds rows of another export too'
      }, so the rows of this delivery cannot be told apart. Nothing was changed. Delete them ` +
        'yourself, then start a backfill of mode `all` for the interval.',
    );
  const [event, inserted] = instants.map(quoted);
  const words = { event: event!, inserted: inserted!, instant: sealing.instant };
  const areas = delivery.repairs!.areas.map((area) => isWithin(words, area));
  return ` AND (${areas.join(' OR ')})`;
}

const instants = ['timestamp', 'inserted_at'];

/**
 * Returns the query of the rows that a delivery may have written, with every value as text: `c0`,
 * `c1` and so on in the order of its columns. `relation` contains the rows, with these columns.
 */
export function textsQuery(
  dialect: Pick<Dialect, 'quoted' | 'textOf'>,
  relation: string,
  layout: Layout & { team_id?: number },
  found: FoundColumn[],
): string {
  const { quoted } = dialect;
  const exact = new Map(found.map(({ name, type }) => [name, type]));
  const folded = new Map(found.map(({ name, type }) => [name.toLowerCase(), type]));
  const texts = layout.columns.map((column, index) => {
    const type = exact.get(column.name) ?? folded.get(column.name.toLowerCase());
    return `${dialect.textOf(column, quoted(column.name), type)} AS ${quoted(`c${index}`)}`;
  });
  const ofTeam =
    isMergedByTeam(layout) && layout.team_id !== undefined
      ? `\nWHERE ${quoted('team_id')} = ${layout.team_id}`
      : '';
  return `SELECT ${texts.join(', ')}\nFROM ${relation}${ofTeam}`;
}
