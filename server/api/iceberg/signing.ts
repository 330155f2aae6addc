import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { openLakePlace } from '../../engine/exports/lake_places/open_place.ts';
import type { Signable } from '../../engine/exports/lake_places/lake_place.ts';
import { objectAt, textListAt, textOf } from '../../engine/model/lake_catalog/fields.ts';
import { LakeRefused } from '../../engine/model/lake_catalog/refusal.ts';
import { findNamespace } from '../../engine/model/lake_catalog/namespaces.ts';
import { findTable, hasTableIn, noTable } from '../../engine/model/lake_catalog/tables.ts';
import type { LakeTable, TableName } from '../../engine/model/lake_catalog/tables.ts';
import type { Fields } from '../../platform/fields.ts';
import { exactBody, tableOf } from './asked.ts';
import { lakeDoor, table_path } from './door.ts';
import { rightsOn } from './table_answer.ts';

/**
 * Route that signs a client's request to S3, for stores without short-lived keys: one request for
 * one file of the table at a time.
 */
export function signingRoute(app: FastifyInstance, deps: Deps): void {
  app.post(`${table_path}/sign`, lakeDoor('lake:read', 200), async (request) => {
    const name = tableOf(request);
    const sent = exactBody(request);
    // A missing table is a 404 before the body is read.
    const table =
      (await findTable(deps.db, request.access.team_id!, name)) ??
      (await freeFolder(deps, request, name, sent));
    const asked = signableOf(sent);
    const place = await openLakePlace(deps.engine, deps.db, table.team_id, table.storage_id);
    if (place.sign === undefined)
      throw new LakeRefused(
        'UnsupportedOperationException',
        "This table's files cannot be read by signed requests.",
      );
    return { uri: asked.uri, headers: place.sign(table.location, rightsOn(request, table), asked) };
  });
}

/**
 * Returns a folder that the catalog has chosen and that no table has. It may belong to a table
 * before its first commit (`stage-create`), because the client writes data first. Or it belonged to
 * a dropped table, whose files Spark then deletes. Throws 404 for a request to another place, or
 * without the right to create tables.
 */
async function freeFolder(
  { db }: Deps,
  request: FastifyRequest,
  name: TableName,
  { uri, body }: Fields,
): Promise<Pick<LakeTable, 'team_id' | 'location' | 'storage_id' | 'takes_commits'>> {
  const team_id = request.access.team_id!;
  const namespace = await findNamespace(db, team_id, name.levels);
  const named = [uri, body].map((text) => (typeof text === 'string' ? text : '')).join(' ');
  const folder = own_folder.exec(named)?.[1];
  if (namespace === undefined || folder === undefined) throw noTable(name);
  // A renamed table has the folder of its first name.
  const location = `${namespace.location}/${folder}`;
  const prepared = {
    team_id,
    location,
    storage_id: namespace.batch_export_id,
    takes_commits: true,
  };
  if (rightsOn(request, prepared) !== 'write' || (await hasTableIn(db, location)))
    throw noTable(name);
  return prepared;
}

const own_folder = /\/([\w.-]+-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\//;

function signableOf(sent: Fields): Signable {
  const headers = Object.entries(objectAt(sent['headers'] ?? {}, 'headers')).map(
    ([name, values]): [string, string[]] => [name, textListAt(values, `headers.${name}`)],
  );
  return {
    method: textOf(sent, 'method'),
    uri: textOf(sent, 'uri'),
    region: textOf(sent, 'region'),
    headers: Object.fromEntries(headers),
    ...(sent['body'] === undefined || sent['body'] === null ? {} : { body: textOf(sent, 'body') }),
  };
}
