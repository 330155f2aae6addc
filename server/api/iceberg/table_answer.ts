import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { openLakePlace } from '../../engine/exports/lake_places/open_place.ts';
import type { LakePlace, Rights } from '../../engine/exports/lake_places/lake_place.ts';
import { findTableById, noTable, readWhole } from '../../engine/model/lake_catalog/tables.ts';
import type { LakeTable } from '../../engine/model/lake_catalog/tables.ts';
import { satisfying } from '../../platform/http/caller/scopes.ts';
import { etagOf, isKnown } from '../../platform/http/etag.ts';

/** Half of the lifetime of vended keys. */
const fresh_ms = 30 * 60_000;

/** The parts of an answer about a table's files. */
export type Storage = {
  config: Record<string, string>;
  credentials: { prefix: string; config: Record<string, string> }[];
};

/** Returns the caller's rights on the files of the table. */
export function rightsOn(
  { caller }: FastifyRequest,
  table: Pick<LakeTable, 'takes_commits'>,
): Rights {
  const writes = satisfying('lake:write');
  return table.takes_commits && caller.scopes.some((one) => writes.has(one)) ? 'write' : 'read';
}

/**
 * Sends a table in the form of a load, a creation or a commit. The ETag identifies the metadata
 * file. With vended keys it also changes after half of their lifetime, so that clients get new keys
 * in time.
 */
export async function sendTable(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  table: LakeTable,
): Promise<FastifyReply> {
  const { snapshots } = request.query as { snapshots?: unknown };
  const mode = snapshots === 'refs' ? 'refs' : 'all';
  const delegation = delegationOf(request);
  const rights = rightsOn(request, table);
  const period = delegation.size === 0 ? 0 : Math.floor(deps.clock.now() / fresh_ms);
  const tagOf = (uri: string) =>
    etagOf(JSON.stringify([uri, mode, rights, [...delegation].join(), period]));
  const known = tagOf(table.metadata_location);
  if (request.method === 'GET' && isKnown(request, known))
    return reply.code(304).header('etag', known).send();
  const storage = await storageOf(deps, table, rights, delegation);
  // Another commit may have followed: pointer and metadata must belong together.
  const whole = await readWhole(deps.db, table.id, mode);
  if (whole === undefined) throw noTable(table);
  const { metadata_location: uri, text } = whole;
  return reply
    .code(200)
    .type('application/json')
    .header('etag', tagOf(uri))
    .send(tableText(uri, text, storage));
}

/** Sends the table with an id; throws 404 if it does not exist. */
export async function sendTableById(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  id: string,
): Promise<FastifyReply> {
  const table = await findTableById(deps.db, request.access.team_id!, id);
  if (table === undefined) throw noTable({ levels: [], name: id });
  return sendTable(deps, request, reply, table);
}

/** Returns the text of an answer, without a location for a staged table. */
export function tableText(
  metadata_location: string | null,
  metadata: string,
  { config, credentials }: Storage,
): string {
  const location =
    metadata_location === null ? '' : `"metadata-location":${JSON.stringify(metadata_location)},`;
  const keys =
    credentials.length === 0 ? '' : `,"storage-credentials":${JSON.stringify(credentials)}`;
  return `{${location}"metadata":${metadata},"config":${JSON.stringify(config)}${keys}}`;
}

/** Returns the ways to the files that the client asks for in `X-Iceberg-Access-Delegation`. */
export function delegationOf({ headers }: FastifyRequest): Set<string> {
  const asked = headers['x-iceberg-access-delegation'];
  const known = ['vended-credentials', 'remote-signing'];
  return new Set(
    (typeof asked === 'string' ? asked : '')
      .split(',')
      .map((one) => one.trim())
      .filter((one) => known.includes(one)),
  );
}

/** Returns keys or signing for the files of a table, as the client asks and the place supports. */
export async function storageOf(
  deps: Deps,
  table: Pick<LakeTable, 'levels' | 'name' | 'location' | 'team_id' | 'storage_id'>,
  rights: Rights,
  delegation: ReadonlySet<string>,
): Promise<Storage> {
  const place = await openLakePlace(deps.engine, deps.db, table.team_id, table.storage_id);
  const grant = delegation.has('vended-credentials')
    ? await place.grant(table.location, rights)
    : undefined;
  if (grant !== undefined)
    return { config: { ...place.config, ...grant.config }, credentials: [grant] };
  return {
    config: { ...place.config, ...signerOf(deps, place, table, delegation) },
    credentials: [],
  };
}

function signerOf(
  { config }: Deps,
  { sign }: LakePlace,
  { levels, name, team_id }: Pick<LakeTable, 'levels' | 'name' | 'team_id'>,
  delegation: ReadonlySet<string>,
): Record<string, string> {
  if (sign === undefined || delegation.size === 0) return {};
  const namespace = encodeURIComponent(levels.join('\u001F'));
  const table = `namespaces/${namespace}/tables/${encodeURIComponent(name)}`;
  return {
    's3.remote-signing-enabled': 'true',
    's3.signer': 'S3V4RestSigner',
    's3.signer.uri': `${config.public_url.replace(/\/$/, '')}/iceberg`,
    's3.signer.endpoint': `v1/${team_id}/${table}/sign`,
  };
}
