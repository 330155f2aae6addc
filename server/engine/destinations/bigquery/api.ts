import type { DestinationDeps } from '../../model/destination/destination.ts';
import { openGoogleClient } from './client.ts';
import type { GoogleClient } from './client.ts';
import type { BigQueryConfig } from './config.ts';
import { factsOf } from './faults.ts';

/**
 * A column of a table as the API describes it; `type` uses the API's names (`INTEGER`, `FLOAT`,
 * `BOOLEAN`).
 */
export type Field = { name: string; type: string; mode?: string; defaultValueExpression?: string };

/** Fields of a new table. `expirationTime` is milliseconds since the epoch, as text. */
export type NewTable = {
  schema: { fields: Field[] };
  timePartitioning?: { type: 'DAY'; field: string };
  clustering?: { fields: string[] };
  expirationTime?: string;
};

/** An existing table; `numRows` is a number as text. */
export type Table = { type: string; schema?: { fields?: Field[] }; numRows?: string };

/** The dataset of a delivery, and its client. Jobs must name its `location`. */
export type Dataset = { client: GoogleClient; config: BigQueryConfig; location: string };

/** Signs in and finds the dataset. Throws if it does not exist or is not accessible. */
export async function openDataset(
  config: BigQueryConfig,
  deps: Pick<DestinationDeps, 'outbound' | 'signal' | 'noteProgress'>,
): Promise<Dataset> {
  const client = await openGoogleClient(config, deps);
  const { location } = await client.json<{ location: string }>(
    'GET',
    `${projectPath(config)}/datasets/${config.dataset_id}`,
  );
  return { client, config, location };
}

/** Returns the path of a project in the API. */
export function projectPath(config: BigQueryConfig): string {
  return `/bigquery/v2/projects/${encodeURIComponent(config.project_id)}`;
}

function tablesPath(config: BigQueryConfig, table?: string): string {
  const path = `${projectPath(config)}/datasets/${config.dataset_id}/tables`;
  return table === undefined ? path : `${path}/${encodeURIComponent(table)}`;
}

/** Returns the API's name of a table in the dataset. */
export function tableReference(
  config: BigQueryConfig,
  table: string,
): { projectId: string; datasetId: string; tableId: string } {
  return { projectId: config.project_id, datasetId: config.dataset_id, tableId: table };
}

/** Finds the table of this name; undefined if it does not exist. */
export function findTable({ client, config }: Dataset, table: string): Promise<Table | undefined> {
  return unlessStatus(404, () => client.json<Table>('GET', tablesPath(config, table)));
}

/** Creates a table; an existing one stays unchanged. */
export async function createTable(
  { client, config }: Dataset,
  table: string,
  wanted: NewTable,
): Promise<void> {
  await unlessStatus(409, () =>
    client.json('POST', tablesPath(config), {
      tableReference: tableReference(config, table),
      ...wanted,
    }),
  );
}

/** Removes a table with its rows. A missing table is no error. */
export async function dropTable(
  { client, config }: Dataset,
  table: string,
  signal?: AbortSignal,
): Promise<void> {
  await unlessStatus(404, () =>
    client.json('DELETE', tablesPath(config, table), undefined, signal),
  );
}

/**
 * Lists the dataset's tables with this prefix. The API has no filter for names, so it reads all
 * names, a thousand at a time.
 */
export async function listTables({ client, config }: Dataset, prefix: string): Promise<string[]> {
  const names: string[] = [];
  let page: string | undefined = '';
  while (page !== undefined) {
    const query = new URLSearchParams({
      maxResults: '1000',
      ...(page === '' ? {} : { pageToken: page }),
    });
    type Page = { tables?: { tableReference: { tableId: string } }[]; nextPageToken?: string };
    const { tables, nextPageToken }: Page = await client.json<Page>(
      'GET',
      `${tablesPath(config)}?${query.toString()}`,
    );
    names.push(...(tables ?? []).map((table) => table.tableReference.tableId));
    page = nextPageToken;
  }
  return names.filter((name) => name.startsWith(prefix));
}

/** Returns the result of `work`, or undefined if Google answers with this status. */
export async function unlessStatus<Result>(
  status: number,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (factsOf(error)?.status === status) return undefined;
    throw error;
  }
}
