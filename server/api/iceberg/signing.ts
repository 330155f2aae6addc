import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { openLakePlace } from '../../engine/exports/lake_places/open_place.ts';
import type { Signable } from '../../engine/exports/lake_places/lake_place.ts';
import { objectAt, textListAt, textOf } from '../../engine/model/lake_catalog/fields.ts';
import { LakeRefused } from '../../engine/model/lake_catalog/refusal.ts';
import { findTable, noTable } from '../../engine/model/lake_catalog/tables.ts';
import type { Fields } from '../../platform/fields.ts';
import { exactBody, tableOf } from './asked.ts';
import { lakeDoor, table_path } from './door.ts';
import { rightsOn } from './table_answer.ts';

/**
 * Registers the route that signs a client's request to S3, for stores that give no keys of short
 * life: one request, for one file of the table, at a time.
 */
export function signingRoute(app: FastifyInstance, deps: Deps): void {
  app.post(`${table_path}/sign`, lakeDoor('lake:read', 200), async (request) => {
    const name = tableOf(request);
    const table = await findTable(deps.db, request.access.team_id!, name);
    if (table === undefined) throw noTable(name);
    const asked = signableOf(exactBody(request));
    const place = await openLakePlace(deps.engine, deps.db, table.team_id, table.storage_id);
    if (place.sign === undefined)
      throw new LakeRefused(
        'UnsupportedOperationException',
        'The files of this table are not reached by signed requests.',
      );
    return { uri: asked.uri, headers: place.sign(table.location, rightsOn(request, table), asked) };
  });
}

function signableOf(sent: Fields): Signable {
  const headers = Object.entries(objectAt(sent['headers'] ?? {}, 'headers')).map(
    ([name, values]): [string, string[]] => [name, textListAt(values, `headers.${name}`)],
  );
  return {
    method: textOf(sent, 'method'),
    uri: textOf(sent, 'uri'),
    region: textOf(sent, 'region'),
    headers: Object.fromEntries(headers),
  };
}
