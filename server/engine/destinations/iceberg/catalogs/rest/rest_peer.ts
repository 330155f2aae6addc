import { isFields } from '../../../../../platform/fields.ts';
import type { Fields } from '../../../../../platform/fields.ts';
import type { DestinationDeps } from '../../../../model/destination/destination.ts';
import {
  KnownError,
  NonRetryableError,
  RetryableError,
} from '../../../../model/destination/errors.ts';
import type { TableName } from '../../../../model/lake_catalog/tables.ts';
import { isTableBucket, takesVendedKeys } from '../catalog_config.ts';
import type { CatalogConfig } from '../catalog_config.ts';
import type { AskedTable, Commit } from '../catalog.ts';
import type { Loaded, Peer, Sent } from '../peer.ts';
import { openPaths } from './paths.ts';
import type { Paths } from './paths.ts';
import { requireSuccess } from '../request.ts';
import type { Answer } from '../request.ts';
import { statusError } from '../catalog_faults.ts';
import { openRestClient } from './rest_client.ts';
import type { RestClient } from './rest_client.ts';

/** The requests of one table; the first one reads the configuration of the catalog. */
type Opened = { client: RestClient; name: TableName; delegates: boolean; paths(): Promise<Paths> };

/** Opens a table by the Iceberg REST specification; makes no request yet. */
export function openRestPeer(config: CatalogConfig, name: TableName, deps: DestinationDeps): Peer {
  const client = openRestClient(config, deps);
  let known: Promise<Paths> | undefined;
  const delegates = takesVendedKeys(config);
  const opened = { client, name, delegates, paths: () => (known ??= openPaths(config, client)) };
  return {
    configure: async () => void (await opened.paths()),
    hasNamespace: () => hasNamespace(opened, name.levels),
    createNamespace: () => createNamespace(opened),
    load: () => load(opened),
    create: (table) => create(opened, table),
    send: (commit, _from, key) => send(opened, commit, key),
    drop: async () => {
      const { url } = await tablePath(opened);
      // A table bucket refuses to keep the files.
      if (isTableBucket(config)) url.searchParams.set('purgeRequested', 'true');
      requireSuccess(await client.ask({ method: 'DELETE', url }));
    },
  };
}

async function tablePath({ paths, name }: Opened): Promise<{ url: URL; lifetime: boolean }> {
  const { table, announces_keys } = await paths();
  return { url: table(name), lifetime: announces_keys };
}

const delegation = ({ delegates }: Opened): Record<string, string> =>
  delegates ? { 'X-Iceberg-Access-Delegation': 'vended-credentials' } : {};

async function load(opened: Opened): Promise<Loaded | undefined> {
  const { url } = await tablePath(opened);
  url.searchParams.set('snapshots', 'all');
  const answer = await opened.client.ask({ method: 'GET', url, headers: delegation(opened) });
  return answer.status === 404 ? undefined : loadedOf(requireSuccess(answer));
}

async function create(opened: Opened, table: AskedTable): Promise<Loaded> {
  await createNamespace(opened);
  const { tables } = await opened.paths();
  const { name } = opened;
  const answer = await opened.client.ask({
    method: 'POST',
    url: tables(name.levels),
    headers: delegation(opened),
    // The catalog chooses the location, because some accept none. Nessie requires `stage-create`.
    body: {
      name: name.name,
      schema: table.schema,
      'stage-create': false,
      properties: table.properties,
    },
  });
  if (answer.status === 409)
    throw new RetryableError('conflict', 'Another writer created the table at this moment.');
  return loadedOf(requireSuccess(answer));
}

async function createNamespace(opened: Opened): Promise<void> {
  const { levels } = opened.name;
  if (await hasNamespace(opened, levels)) return;
  const { namespaces } = await opened.paths();
  for (let depth = 1; depth <= levels.length; depth += 1) {
    const namespace = levels.slice(0, depth);
    if (depth < levels.length && (await hasNamespace(opened, namespace))) continue;
    const answer = await opened.client.ask({
      method: 'POST',
      url: namespaces(),
      body: { namespace, properties: {} },
    });
    if (answer.status !== 409) requireSuccess(answer);
  }
}

async function hasNamespace({ paths, client }: Opened, levels: string[]): Promise<boolean> {
  const { namespace } = await paths();
  const answer = await client.ask({ method: 'GET', url: namespace(levels) });
  if (answer.status === 404) return false;
  requireSuccess(answer);
  return true;
}

/** Statuses by which a catalog reports that it did not carry out the request. */
const isRefusal = (status: number) => status >= 300 && status < 500 && status !== 408;

async function send(opened: Opened, commit: Commit, key: string): Promise<Sent> {
  const { url, lifetime } = await tablePath(opened);
  let answer: Answer;
  try {
    answer = await opened.client.ask({
      method: 'POST',
      url,
      body: {
        identifier: { namespace: opened.name.levels, name: opened.name.name },
        ...commit,
      },
      headers: lifetime ? { 'Idempotency-Key': key } : {},
    });
  } catch (error) {
    // A lasting fault of the connection, such as a refused address, comes before any byte is sent.
    if (!(error instanceof KnownError) || error instanceof NonRetryableError) throw error;
    return { doubt: error };
  }
  const { status, said } = answer;
  // 404: the table was dropped, which the next read shows.
  if (status === 409 || status === 404) return 'conflict';
  if (isRefusal(status)) throw statusError(status, said);
  if (status >= 200 && status <= 299) return 'applied';
  return { doubt: statusError(status, said) };
}

function loadedOf(fields: Fields): Loaded {
  const { metadata } = fields;
  if (!isFields(metadata) || typeof metadata['location'] !== 'string')
    throw new NonRetryableError(
      'endpoint_missing',
      'The catalog answered something that is no table. Check catalog_uri.',
    );
  return {
    metadata: metadata as unknown as Loaded['metadata'],
    storage: storageOf(fields, metadata['location']),
  };
}

/**
 * Returns the properties of the longest prefix that contains the table, over those of the table.
 */
function storageOf(fields: Fields, location: string): Record<string, string> {
  const { config, 'storage-credentials': credentials } = fields;
  const fitting = (Array.isArray(credentials) ? credentials : [])
    .filter(isFields)
    .filter(({ prefix }) => typeof prefix === 'string' && location.startsWith(prefix))
    .toSorted((a, b) => String(b['prefix']).length - String(a['prefix']).length);
  const given = [config, fitting[0]?.['config']].filter(isFields);
  return Object.assign({}, ...given) as Record<string, string>;
}
