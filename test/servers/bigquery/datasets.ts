import { typeName } from './tables.ts';
import type { Field, StoredTable } from './tables.ts';
import { Refused, page_size } from './store.ts';
import type { Store, Answer, Asked } from './store.ts';

/** Answers requests about a dataset or a table in it. */
export function answerDataset(
  store: Store,
  { request, url, body }: Asked,
  id: string,
  name: string | undefined,
  detail: string | undefined,
): Answer {
  const tables = store.datasets.get(id);
  if (tables === undefined)
    throw new Refused(404, 'notFound', `Not found: Dataset ${store.project}:${id}`);
  if (detail === undefined) return { status: 200, body: { location: 'EU' } };
  if (name === undefined)
    return request.method === 'POST'
      ? createTable(store, tables, id, body)
      : listTables(store, tables, id, url);
  const table = tables.get(name);
  if (table === undefined)
    throw new Refused(404, 'notFound', `Not found: Table ${store.project}:${id}.${name}`);
  if (request.method === 'DELETE') {
    tables.delete(name);
    return { status: 204 };
  }
  return {
    status: 200,
    body: {
      type: table.type,
      schema: { fields: table.fields },
      numRows: String(table.rows.length),
      ...table.made_with,
    },
  };
}

function createTable(
  store: Store,
  tables: Map<string, StoredTable>,
  dataset: string,
  body: Buffer,
): Answer {
  type Wanted = {
    tableReference: { projectId: string; datasetId: string; tableId: string };
    schema: { fields: Field[] };
  };
  const { tableReference, schema, ...made_with } = JSON.parse(body.toString()) as Wanted;
  const { projectId, datasetId, tableId } = tableReference;
  if (projectId !== store.project || datasetId !== dataset)
    throw new Refused(400, 'invalid', 'The reference is of another dataset');
  if (tables.has(tableId))
    throw new Refused(
      409,
      'duplicate',
      `Already Exists: Table ${store.project}:${dataset}.${tableId}`,
    );
  tables.set(tableId, {
    type: 'TABLE',
    fields: schema.fields.map((field) => ({ ...field, type: typeName(field.type) })),
    rows: [],
    made_with,
  });
  return { status: 200, body: { tableReference } };
}

function listTables(
  store: Store,
  tables: Map<string, StoredTable>,
  dataset: string,
  url: URL,
): Answer {
  const after = url.searchParams.get('pageToken') ?? '';
  const left = [...tables.keys()].filter((name) => name > after).sort();
  const page = left.slice(0, page_size);
  const list = page.map((tableId) => ({
    tableReference: { projectId: store.project, datasetId: dataset, tableId },
  }));
  return {
    status: 200,
    body: {
      ...(page.length === 0 ? {} : { tables: list }),
      ...(left.length > page_size ? { nextPageToken: page.at(-1) } : {}),
    },
  };
}
