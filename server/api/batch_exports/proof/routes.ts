import sql from 'sql-template-tag';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Engine } from '../../../engine/exports/engine.ts';
import { timesOf } from '../../../engine/exports/planning/backfill_area.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { invalid, missing } from '../../../platform/http/errors.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import { getPresence } from '../found.ts';
import { refuseEmptyRange } from '../range.ts';
import { countProof } from './count.ts';
import type { ProvenExport, ProofRange } from './count.ts';
import { Proof, ProofQuery } from './schema.ts';

const default_days = 30;
const day_ms = 24 * 3_600_000;

/** Route `proof/` of an export: rows stored against rows delivered. */
export function proofRoutes(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  app.get(
    `${base}:id/proof/`,
    {
      config: { scope: 'batch_export:read', within },
      schema: {
        summary: 'Compare rows stored with rows delivered, for any range',
        description:
          'Counts the rows that the server stores now, and their states by the ledger: ' +
          'delivered, left out by the filter, set aside, in progress, waiting or not ' +
          'delivered. `verifications/` checks whether the delivered rows are still there.',
        querystring: ProofQuery,
        response: { 200: Proof },
      },
    },
    async (request) => {
      const { id } = await getPresence(request, engine.db);
      const row =
        (await engine.db.row<ProvenExport>(sql`
          SELECT id, team_id, revision, "interval", timezone, offset_minutes, model, custom_query,
            destination_config, paused, planned_until, end_at
          FROM batch_exports WHERE id = ${id}`)) ?? missing();
      const now = await databaseInstant(engine.db);
      const { organization_id } = request.access;
      return countProof(engine, organization_id, row, rangeAsked(request, row, now), now);
    },
  );
}

function rangeAsked(request: FastifyRequest, row: ProvenExport, now: number): ProofRange {
  const asked = query(request, ProofQuery);
  const before = asked.before === undefined ? now : Date.parse(asked.before);
  const after =
    asked.after === undefined ? before - default_days * day_ms : Date.parse(asked.after);
  const { by = 'inserted_at' } = asked;
  refuseEmptyRange(after, before);
  if (!timesOf(row.model).includes(by))
    throw invalid('by', 'invalid_choice', 'Persons only have the time of their latest change.');
  return { after, before, by };
}
