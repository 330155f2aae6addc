import type { FastifyInstance, FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import type { Deps } from '../../deps.ts';
import { LakeRefused } from '../../engine/model/lake_catalog/refusal.ts';
import type { Caller } from '../../platform/http/caller/access.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { listProjects } from '../projects/store.ts';
import { lakeDoor } from './door.ts';

const namespace = '/v1/{prefix}/namespaces/{namespace}';
const table = `${namespace}/tables/{table}`;

/** The endpoints that the catalog offers, in the specification's form, without views. */
export const endpoints = [
  'GET /v1/{prefix}/namespaces',
  'POST /v1/{prefix}/namespaces',
  `GET ${namespace}`,
  `HEAD ${namespace}`,
  `DELETE ${namespace}`,
  `POST ${namespace}/properties`,
  `GET ${namespace}/tables`,
  `POST ${namespace}/tables`,
  `POST ${namespace}/register`,
  `GET ${table}`,
  `HEAD ${table}`,
  `POST ${table}`,
  `DELETE ${table}`,
  `GET ${table}/credentials`,
  `POST ${table}/metrics`,
  `POST ${table}/sign`,
  'POST /v1/{prefix}/tables/rename',
  'POST /v1/{prefix}/transactions/commit',
];

/** Route `/iceberg/v1/config`, which clients call first. */
export function configRoute(app: FastifyInstance, { db }: Deps): void {
  app.get(
    '/iceberg/v1/config',
    lakeDoor('lake:read', 200, { service_keys: true }),
    async (request) => ({
      defaults: {},
      overrides: { prefix: String(await projectOf(db, request)) },
      endpoints,
      'idempotency-key-lifetime': 'PT24H',
    }),
  );
}

/**
 * Returns the project of the warehouse that the client names, or the oldest project. Throws 404 if
 * there is none.
 */
async function projectOf(db: Queryable, { query, caller }: FastifyRequest): Promise<number> {
  const { warehouse = '' } = query as { warehouse?: unknown };
  const found = await findProject(db, caller, String(warehouse));
  if (found !== undefined) return found.id;
  throw new LakeRefused(
    'NotFoundException',
    warehouse === ''
      ? 'The key has access to no project.'
      : 'The key has no access to a project with this id. The warehouse is the id of a project.',
  );
}

async function findProject(
  db: Queryable,
  caller: Caller,
  warehouse: string,
): Promise<{ id: number } | undefined> {
  if (warehouse !== '' && !/^[1-9]\d{0,9}$/.test(warehouse)) return undefined;
  const seen = listProjects(caller).rows({ limit: 2_147_483_647, offset: 0 });
  return db.row(sql`SELECT seen.id FROM (${seen}) seen
    WHERE ${warehouse} = '' OR seen.id::text = ${warehouse} LIMIT 1`);
}
