import type { LakeTable, LakeTableDetails } from '../../api/lake_tables/schema.ts';
import { openApi } from '../client/api.ts';
import type { Api } from '../client/api.ts';
import { printJson, printRecord, printTable, say } from '../client/print.ts';
import type { Output } from '../client/print.ts';
import { readCount } from '../client/read_options.ts';
import type { ReadFlags } from '../client/read_options.ts';
import { projectPath } from '../exports/find_export.ts';
import { shownInstant } from '../exports/shown_export.ts';
import { isUuid } from '../../platform/uuid.ts';
import { UserError } from '../user_error.ts';

const tables_max = 1_000;

/** `sluice lake list`: lists the tables of the project's Iceberg catalog, by name. */
export async function listTables(
  output: Output,
  flags: ReadFlags & { limit: string },
): Promise<number> {
  const api = openApi(flags);
  const path = projectPath(api, 'lake_tables/');
  const rows = await api.list<LakeTable>(path, readCount('--limit', flags.limit));
  if (flags.json === true) printJson(output, rows);
  else if (rows.length === 0 && output.is_terminal)
    say(output, 'No tables here. An export to Iceberg creates one.');
  else
    printTable<LakeTable>(output, rows, [
      { title: 'table', text: nameOf },
      { title: 'rows', text: ({ rows: count }) => count },
      { title: 'files', text: ({ data_files }) => data_files },
      { title: 'bytes', text: ({ bytes }) => bytes },
      { title: 'last commit', text: ({ committed_at }) => shownInstant(output, committed_at) },
      { title: 'written by', text: ({ batch_export }) => batch_export?.name },
      { title: 'id', text: ({ id }) => id },
    ]);
  return 0;
}

/** `sluice lake show`: shows one table with its columns and its maintenance. */
export async function showTable(output: Output, name: string, flags: ReadFlags): Promise<number> {
  const api = openApi(flags);
  printDetails(output, await api.get<LakeTableDetails>(await tablePath(api, name)), flags);
  return 0;
}

/** `sluice lake maintain`: starts the next round of maintenance now. */
export async function maintainTable(
  output: Output,
  name: string,
  flags: ReadFlags,
): Promise<number> {
  const api = openApi(flags);
  const table = await api.post<LakeTableDetails>(`${await tablePath(api, name)}maintain/`);
  if (flags.json === true) printJson(output, table);
  else say(output, `Maintenance of ${nameOf(table)} starts within a minute.`);
  return 0;
}

function printDetails(output: Output, table: LakeTableDetails, flags: ReadFlags): void {
  if (flags.json === true) return printJson(output, table);
  const { maintenance } = table;
  const at = (instant: string | null | undefined) => shownInstant(output, instant ?? null);
  printRecord(output, [
    ['table', nameOf(table)],
    ['id', table.id],
    ['written by', table.batch_export?.name ?? 'clients of the catalog'],
    ['location', table.location],
    ['rows', table.rows],
    ['files', table.data_files],
    ['bytes', table.bytes],
    ['snapshots', table.snapshots],
    ['last commit', at(table.committed_at)],
    [
      'partitions',
      table.partitions.map(({ column, transform }) => `${transform} ${column}`).join(),
    ],
    ['order', table.sort_order.map(({ column, direction }) => `${column} ${direction}`).join()],
    ['maintenance', maintenance === null ? 'none' : maintenance.is_on ? 'on' : 'off'],
    ['  latest round', at(maintenance?.finished_at)],
    ['  latest change', at(maintenance?.changed_at)],
    ...Object.entries(maintenance?.changes ?? {}).flatMap(([change, count]) =>
      count === 0 ? [] : [[`    ${change.replaceAll('_', ' ')}`, count] as const],
    ),
    ['  next round', maintenance?.is_on === true ? at(maintenance.due_at) : undefined],
    ['  left alone', maintenance?.detail],
  ]);
  if (!output.is_terminal) return;
  say(output, '');
  printTable(output, table.columns, [
    { title: 'column', text: ({ name }) => name },
    { title: 'type', text: ({ type }) => type },
    { title: 'field id', text: ({ id }) => id },
  ]);
}

function nameOf({ namespace, name }: Pick<LakeTable, 'namespace' | 'name'>): string {
  return `${namespace}.${name}`;
}

/**
 * Returns the path of the table with this id or full name. Throws a `UserError` if there is none.
 */
async function tablePath(api: Api, text: string): Promise<string> {
  const tables = projectPath(api, 'lake_tables/');
  if (isUuid(text)) return `${tables}${text}/`;
  const found = (await api.list<LakeTable>(tables, tables_max)).find((one) => nameOf(one) === text);
  if (found === undefined)
    throw new UserError(`There is no table "${text}". \`sluice lake list\` lists all.`);
  return `${tables}${found.id}/`;
}
