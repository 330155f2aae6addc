import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Deps } from '../../deps.ts';
import { countFiles } from '../../engine/exports/lake_places/count_files.ts';
import { findTableById } from '../../engine/model/lake_catalog/tables.ts';
import { conflict, missing } from '../../platform/http/errors.ts';
import { PageQuery, answerPage } from '../../platform/http/lists/pagination.ts';
import { query } from '../../platform/http/lists/query.ts';
import { uuid } from '../../platform/http/schemas.ts';
import { addRoute, addWrite } from '../../platform/http/records.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { isUuid } from '../../platform/uuid.ts';
import { isMaintained } from '../../engine/exports/lake_maintenance/rules.ts';
import { detailsOf } from './details.ts';
import { LakeFiles, LakeSnapshots, LakeTableDetails, LakeTables } from './schema.ts';
import type {
  LakeSnapshot,
  LakeTable,
  LakeTableDetails as LakeTableDetailsType,
} from './schema.ts';
import {
  findLakeTable,
  findMaintenance,
  listLakeTables,
  listSnapshots,
  maintainNow,
} from './store.ts';

const base = '/api/projects/:project_id/lake_tables/';
const reading = { scope: 'lake:read', within: 'project' } as const;

const TablesQuery = Type.Object({
  ...PageQuery.properties,
  batch_export: Type.Optional(uuid('Only the tables of this export.')),
});

/**
 * Routes of `/api/projects/:project_id/lake_tables/`: the tables of the Iceberg catalog, for
 * people.
 */
export function lakeTableRoutes(app: FastifyInstance, deps: Deps): void {
  const { db } = deps;
  addRoute(app, {
    url: base,
    config: reading,
    summary: 'List the tables of the Iceberg catalog of a project',
    description: 'Engines read them under `/iceberg` (docs/iceberg_catalog.md).',
    querystring: TablesQuery,
    response: { 200: LakeTables },
    handler: (request) => {
      const { batch_export } = query(request, TablesQuery);
      return answerPage<LakeTable>(
        request,
        db,
        listLakeTables(request.access.team_id!, batch_export),
      );
    },
  });
  addRoute(app, {
    url: `${base}:id/`,
    config: reading,
    summary: 'Retrieve a table of the catalog, with its schema and properties',
    response: { 200: LakeTableDetails },
    handler: (request) => tableOf(db, request),
  });
  maintainRoute(app);
  partRoutes(app, deps);
}

function maintainRoute(app: FastifyInstance): void {
  addWrite(app, {
    url: `${base}:id/maintain/`,
    config: { scope: 'lake:write', within: 'project' },
    summary: 'Maintain a table now',
    description:
      'The next round begins within a minute. It merges small files at once and removes unused ' +
      'files; `maintenance.finished_at` tells when it has ended. 409 for a table that Sluice ' +
      'does not maintain.',
    response: { 202: LakeTableDetails },
    work: async ({ request, tx, record }) => {
      const { team_id, id } = asked(request);
      const table = (await findTableById(tx, team_id, id)) ?? missing();
      if (!isMaintained(table))
        throw conflict(
          table.batch_export_id === null
            ? 'No export writes this table. Set its property `sluice.maintenance` to `true` to ' +
                'let Sluice maintain it.'
            : 'The maintenance of this table is off: it has `sluice.maintenance` = `false` ' +
                'or format version 1.',
        );
      await maintainNow(tx, id);
      record('nothing');
      return tableOf(tx, request);
    },
  });
}

function partRoutes(app: FastifyInstance, { db, engine }: Deps): void {
  addRoute(app, {
    url: `${base}:id/snapshots/`,
    config: reading,
    summary: 'List the snapshots of a table, newest first',
    querystring: PageQuery,
    response: { 200: LakeSnapshots },
    handler: async (request) => {
      const { team_id, id } = asked(request);
      if ((await findTableById(db, team_id, id)) === undefined) return missing();
      return answerPage<LakeSnapshot>(request, db, listSnapshots(team_id, id));
    },
  });
  addRoute(app, {
    url: `${base}:id/files/`,
    config: reading,
    summary: 'Count the data files of a table, with the sizes of the smallest and the largest',
    description:
      'Sluice reads the manifests of the current snapshot, at most 1,000. If it cannot, ' +
      '`fault` says why and the counts are null.',
    response: { 200: LakeFiles },
    handler: async (request) => {
      const { team_id, id } = asked(request);
      const table = await findTableById(db, team_id, id);
      return table === undefined ? missing() : countFiles(engine, db, table);
    },
  });
}

async function tableOf(db: Queryable, request: FastifyRequest): Promise<LakeTableDetailsType> {
  const { team_id, id } = asked(request);
  const [shown, table, maintenance] = await Promise.all([
    findLakeTable(db, team_id, id),
    findTableById(db, team_id, id),
    findMaintenance(db, id),
  ]);
  return shown === undefined || table === undefined
    ? missing()
    : detailsOf(shown, table, maintenance);
}

/** Returns the table of the path. Throws 404 for a malformed id. */
function asked(request: FastifyRequest): { team_id: number; id: string } {
  const { id } = request.params as { id: string };
  return isUuid(id) ? { team_id: request.access.team_id!, id } : missing();
}
