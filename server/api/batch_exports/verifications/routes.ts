import { v7 as uuidv7 } from 'uuid';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Engine } from '../../../engine/exports/engine.ts';
import {
  cancelVerification,
  insertVerification,
} from '../../../engine/exports/verification/verification.ts';
import { uuidParameter } from '../../../platform/http/caller/access.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { NoFields, body } from '../../../platform/http/bodies/body.ts';
import { conflict, invalidMany, missing } from '../../../platform/http/errors.ts';
import { inReadTurn, ownerOf } from '../../../platform/http/limits/owner_turns.ts';
import { PageQuery, answerPage, pageOf } from '../../../platform/http/lists/pagination.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { addWrite } from '../../../platform/http/records.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { exportActionEntry } from '../activity.ts';
import { instantViolations, rangeViolations } from '../body/instants.ts';
import { getLockedExport, getPresence } from '../found.ts';
import { repairDelivery } from './repair.ts';
import {
  FindingsQuery,
  NewRepair,
  NewVerification,
  Repair,
  Verification,
  VerificationFinding,
  repair_description,
} from './schema.ts';
import { shownFinding, shownVerification } from './shown.ts';
import { findVerification, listFindings, listVerifications } from './store.ts';
import type { FindingRow, VerificationRow } from './store.ts';

/** Routes `verifications/` of an export: comparisons of deliveries with the destination. */
export function verificationRoutes(app: FastifyInstance, engine: Engine, mount: Mount): void {
  startRoute(app, engine, mount);
  readingRoutes(app, engine, mount);
  findingRoutes(app, engine, mount);
  cancelRoute(app, engine, mount);
}

function startRoute(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  addWrite(app, {
    url: `${base}:batch_export_id/verifications/`,
    config: { scope: 'batch_export:write', within },
    summary: 'Compare the deliveries with the current data at the destination',
    description:
      'A worker reads the destination again, the newest deliveries first, and compares ' +
      'it with the receipts and with the source. Without a range, it compares everything ' +
      'that the export has delivered since its last restart. One verification of an ' +
      'export is in progress at a time.',
    body: NewVerification,
    response: { 201: Verification },
    work: async ({ request, tx, record }) => {
      const row = await getLockedExport(request, tx, 'batch_export_id');
      const { start_at = null, end_at = null } = body(request, NewVerification);
      const violations = [
        ...instantViolations({ start_at, end_at }),
        ...rangeViolations(start_at, end_at),
      ];
      if (violations.length > 0) throw invalidMany(violations);
      const id = uuidv7();
      const { revision } = row;
      if (
        !(await insertVerification(tx, {
          id,
          batch_export_id: row.id,
          revision,
          start_at,
          end_at,
        }))
      )
        throw conflict('A verification of this export is in progress: cancel it, or wait.');
      record(exportActionEntry('verified', row, { verification: { id, start_at, end_at } }));
      return getVerification(engine, request, tx, id);
    },
  });
}

function readingRoutes(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  const config = { scope: 'batch_export:read', within } as const;
  const list = `${base}:batch_export_id/verifications/`;
  app.get(
    list,
    {
      config,
      schema: {
        summary: "List a batch export's verifications, newest first",
        querystring: PageQuery,
        response: { 200: pageOf(Verification) },
      },
    },
    async (request) => {
      const { id } = await getPresence(request, engine.db, 'batch_export_id');
      const page = await inReadTurn(ownerOf(request), () =>
        answerPage<VerificationRow>(request, engine.db, listVerifications(request.access, id)),
      );
      const now = engine.clock.now();
      return { ...page, results: page.results.map((row) => shownVerification(row, now)) };
    },
  );
  app.get(
    `${list}:id/`,
    {
      config,
      schema: {
        summary: 'Retrieve a verification with its progress',
        response: { 200: Verification },
      },
    },
    (request) => getVerification(engine, request, engine.db),
  );
}

function findingRoutes(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  const one = `${base}:batch_export_id/verifications/:id/`;
  app.get(
    `${one}findings/`,
    {
      config: { scope: 'batch_export:read', within },
      schema: {
        summary: 'List the findings of a verification, each with its repair',
        querystring: FindingsQuery,
        response: { 200: pageOf(VerificationFinding) },
      },
    },
    async (request) => {
      const { kind } = query(request, FindingsQuery);
      const row = await getRow(request, engine.db);
      const page = await answerPage<FindingRow>(request, engine.db, listFindings(row.id, kind));
      return {
        ...page,
        results: page.results.map((finding) => shownFinding(finding, row)),
      };
    },
  );
  addWrite(app, {
    url: `${one}repair/`,
    config: { scope: 'batch_export:write', within },
    summary: 'Repair a delivery that a verification has found changed',
    description: repair_description,
    body: NewRepair,
    response: { 201: Repair },
    work: async ({ request, tx, record }) => {
      const row = await getLockedExport(request, tx, 'batch_export_id');
      const verification = await getRow(request, tx);
      const { delivery } = body(request, NewRepair);
      const repair = await repairDelivery(engine, tx, row, verification, delivery);
      record(exportActionEntry('repaired', row, { verification: verification.id, repair }));
      return repair;
    },
  });
}

function cancelRoute(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  addWrite(app, {
    url: `${base}:batch_export_id/verifications/:id/cancel/`,
    config: { scope: 'batch_export:write', within },
    summary: 'Cancel a verification; what it has found stays',
    response: { 200: Verification },
    work: async ({ request, tx, record }) => {
      const row = await getLockedExport(request, tx, 'batch_export_id');
      const { id, status } = await getRow(request, tx);
      body(request, NoFields);
      if (!(await cancelVerification(tx, id)))
        throw conflict(`The verification has ended: its status is ${status}.`);
      record(exportActionEntry('verification_cancelled', row, { verification: { id } }));
      return getVerification(engine, request, tx);
    },
  });
}

async function getRow(
  request: FastifyRequest,
  db: Queryable,
  id = uuidParameter(request, 'id'),
): Promise<VerificationRow> {
  const exportId = uuidParameter(request, 'batch_export_id');
  return (await findVerification(db, request.access, exportId, id)) ?? missing();
}

async function getVerification(
  engine: Engine,
  request: FastifyRequest,
  db: Queryable,
  id?: string,
): Promise<Verification> {
  return shownVerification(await getRow(request, db, id), engine.clock.now());
}
