import type { Database } from '../../../platform/postgres/database.ts';
import type { Delivery, DestinationDeps } from '../../model/destination/destination.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { Config, LakePlace } from '../lake/place.ts';
import type { TableCatalog } from './catalogs/catalog.ts';
import { isForeign, isTableBucket, takesVendedKeys } from './catalogs/catalog_config.ts';
import type { CatalogConfig } from './catalogs/catalog_config.ts';
import { openForeignCatalog } from './catalogs/foreign_catalog.ts';
import { openGluePeer } from './catalogs/glue/glue_peer.ts';
import { openOwnCatalog } from './catalogs/own_catalog.ts';
import type { Loaded, Peer } from './catalogs/peer.ts';
import { openRestPeer } from './catalogs/rest/rest_peer.ts';
import { placeConfig } from '../lake/table_places.ts';
import { dataConfig, tableName } from './config.ts';
import { createTable } from './table.ts';
import { isInPlace } from './world.ts';
import type { Storage, World } from './world.ts';

/**
 * Opens the place of a table and its catalog, which knows the table's location. A missing table of
 * another catalog is created for a `delivery`.
 */
export async function openWorld(
  place: LakePlace,
  config: Config,
  team_id: number,
  deps: DestinationDeps,
  delivery?: Delivery,
): Promise<World> {
  if (isForeign(config as CatalogConfig))
    return openForeignWorld(place, config, team_id, deps, delivery);
  const storage = await openStorage(place, config, team_id, deps);
  const catalog = openOwnCatalog(storage, storeOf(deps));
  // A table stays where it was created, even if the config's prefix has changed.
  const location = (await catalog.load())?.metadata.location;
  const data =
    location === undefined || !isInPlace(storage, location)
      ? dataConfig(place, config, team_id)
      : placeConfig(place, config, `${folderOf(storage, location)}/data`);
  return { ...storage, catalog, data };
}

/** Returns the folder of a table in its place, without outer slashes. */
function folderOf({ root }: Storage, location: string): string {
  return location.slice(root.length).replace(/\/+$/, '');
}

/** Opens only the catalog of a table; makes no request yet. */
export async function openCatalog(
  place: LakePlace,
  config: Config,
  team_id: number,
  deps: DestinationDeps,
): Promise<TableCatalog> {
  if (isForeign(config as CatalogConfig))
    return openForeignCatalog(await openPeer(place, config, team_id, deps), deps);
  return openOwnCatalog(await openStorage(place, config, team_id, deps), storeOf(deps));
}

function storeOf({ db }: DestinationDeps): Database {
  if (db === undefined) throw new Error('A table needs the control store.');
  return db;
}

async function openForeignWorld(
  place: LakePlace,
  config: Config,
  team_id: number,
  deps: DestinationDeps,
  delivery: Delivery | undefined,
): Promise<World> {
  const peer = await openPeer(place, config, team_id, deps);
  let table = await peer.load();
  if (table === undefined && delivery !== undefined) {
    await createTable(
      openForeignCatalog(peer, deps),
      { place, config, team_id, root: place.root(config, deps) },
      delivery,
    );
    table = await peer.load();
  }
  const catalog = openForeignCatalog(peer, deps, table);
  const opened = { ...config, ...keysOf(config, table) };
  const storage = await openStorage(place, opened, team_id, deps);
  return { ...storage, catalog, data: foreignData(storage, table) };
}

/** Opens the table in the config's catalog; makes no request yet. */
export async function openPeer(
  place: LakePlace,
  config: Config,
  team_id: number,
  deps: DestinationDeps,
): Promise<Peer> {
  const { catalog } = config as CatalogConfig;
  const name = tableName(config);
  return catalog === 'glue'
    ? openGluePeer(await openStorage(place, config, team_id, deps), name)
    : openRestPeer(config as CatalogConfig, name, deps);
}

/** Opens the place of the files. */
export async function openStorage(
  place: LakePlace,
  config: Config,
  team_id: number,
  deps: DestinationDeps,
): Promise<Storage> {
  const { clock } = deps;
  if (clock === undefined) throw new Error('A table needs a clock.');
  const root = place.root(config, deps);
  const folder = place.folder?.(team_id);
  const base = folder === undefined ? root : `${root}${folder}/`;
  const files = await place.openFiles(config, deps);
  return { place, config, deps, clock, files, root, base, team_id };
}

/** Returns what the table says about access to its files, under the names of S3's config. */
export function keysOf(config: Config, table: Loaded | undefined): Config {
  return { ...vendedKeys(config, table), ...tableBucket(config, table) };
}

/** AWS gives each table of a table bucket a bucket with this suffix, which it keeps for these. */
const bucket_of_table = /^s3:\/\/([^/]+--table-s3)(?:\/|$)/;

function tableBucket(config: Config, table: Loaded | undefined): Config {
  const name = bucket_of_table.exec(table?.metadata.location ?? '')?.[1];
  return {
    ...(name === undefined ? {} : { bucket_name: name }),
    ...(name === undefined && !isTableBucket(config as CatalogConfig)
      ? {}
      : { is_table_bucket: true }),
  };
}

/**
 * Returns the catalog's credentials for the files of a table, under the names of S3's config.
 * Throws if neither the config nor the catalog has any: the server's own are never used for it.
 */
function vendedKeys(config: Config, table: Loaded | undefined): Config {
  if (!takesVendedKeys(config as CatalogConfig)) return {};
  const given = table?.storage ?? {};
  if (given['s3.access-key-id'] === undefined)
    throw new NonRetryableError(
      table === undefined ? 'table_missing' : 'authentication_failed',
      table === undefined
        ? 'The catalog has no such table, so it issues no credentials for its files.'
        : 'The catalog issues no credentials for the files of the table. Give ' +
            'aws_access_key_id and aws_secret_access_key.',
    );
  const endpoint = config['endpoint_url'] ?? given['s3.endpoint'];
  return {
    aws_access_key_id: given['s3.access-key-id'],
    aws_secret_access_key: given['s3.secret-access-key'],
    aws_session_token: given['s3.session-token'],
    ...(endpoint === undefined ? {} : { endpoint_url: endpoint }),
  };
}

/** Returns the config of the data files of a table that another catalog has placed. */
export function foreignData(storage: Storage, table: Loaded | undefined, below = '/data'): Config {
  const { place, config, base } = storage;
  if (table === undefined) return placeConfig(place, config, '');
  const { location } = table.metadata;
  // A table bucket has its table at the root.
  const fits = isInPlace({ base }, `${location}/`) && !/[{}]/.test(location);
  if (!fits)
    throw new NonRetryableError(
      'table_unsuitable',
      `The files of the table lie in ${location}. Sluice writes below ${base} with these keys.`,
    );
  const found = ['aws_session_token', 'is_table_bucket'].filter((key) => config[key] !== undefined);
  return {
    ...placeConfig(place, config, folderOf(storage, location) + below),
    ...Object.fromEntries(found.map((key) => [key, config[key]])),
  };
}
