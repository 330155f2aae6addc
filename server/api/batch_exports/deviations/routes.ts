import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Engine } from '../../../engine/exports/engine.ts';
import { deviationSentence } from '../../../engine/exports/verification/deviation_words.ts';
import { lookSoon } from '../../../engine/exports/verification/watches.ts';
import { NoFields, body } from '../../../platform/http/bodies/body.ts';
import { uuidParameter } from '../../../platform/http/caller/access.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { conflict, missing } from '../../../platform/http/errors.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { addList, addWrite } from '../../../platform/http/records.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { exportActionEntry } from '../activity.ts';
import { getLockedExport, getPresence } from '../found.ts';
import { startRepair } from '../verifications/repair.ts';
import { Repair, repair_description } from '../verifications/schema.ts';
import { shownRepair } from '../verifications/shown.ts';
import { Acceptance, Deviation, DeviationsQuery } from './schema.ts';
import { acceptDeviation, findDeviation, listDeviations, noteDeviationRepair } from './store.ts';
import type { DeviationRow } from './store.ts';

/** Routes `deviations/` of an export: differences that scheduled verification has found. */
export function deviationRoutes(app: FastifyInstance, engine: Engine, mount: Mount): void {
  const list = `${mount.base}:batch_export_id/deviations/`;
  const { within } = mount;
  addList(app, {
    url: list,
    config: { scope: 'batch_export:read', within },
    summary: 'List the differences that scheduled verification has found, newest first',
    querystring: DeviationsQuery,
    answer: Deviation,
    rows: async (request) => {
      const { id } = await getPresence(request, engine.db, 'batch_export_id');
      return listDeviations(request.access, id, query(request, DeviationsQuery).state);
    },
    shown: shownDeviation,
  });
  acceptRoute(app, list, mount);
  repairRoute(app, engine, list, mount);
}

function acceptRoute(app: FastifyInstance, list: string, { within }: Mount): void {
  addWrite(app, {
    url: `${list}:id/accept/`,
    config: { scope: 'batch_export:write', within },
    summary: 'Accept a finding: the destination is right',
    description:
      'Your name and the reason are stored with the finding and appear in the statement. ' +
      'It no longer holds `verified_through` back. If another difference appears there ' +
      'later, the finding is open again.',
    body: Acceptance,
    response: { 200: Deviation },
    work: async ({ request, tx, record }) => {
      const row = await getLockedExport(request, tx, 'batch_export_id');
      const { id, state } = await getDeviation(request, tx);
      const { reason } = body(request, Acceptance);
      if (state === 'resolved')
        throw conflict('A later check found it as delivered, so there is nothing to accept.');
      await acceptDeviation(tx, id, request.caller, reason);
      await lookSoon(tx, row);
      record(exportActionEntry('deviation_accepted', row, { deviation: { id, reason } }));
      return shownDeviation(await getDeviation(request, tx));
    },
  });
}

function repairRoute(app: FastifyInstance, engine: Engine, list: string, { within }: Mount): void {
  addWrite(app, {
    url: `${list}:id/repair/`,
    config: { scope: 'batch_export:write', within },
    summary: 'Repair the delivery of a finding',
    description: repair_description,
    body: NoFields,
    response: { 201: Repair },
    work: async ({ request, tx, record }) => {
      const row = await getLockedExport(request, tx, 'batch_export_id');
      const { id, state, kind, delivery, revision } = await getDeviation(request, tx);
      body(request, NoFields);
      if (state === 'resolved') throw conflict('A later check found it as delivered.');
      if (delivery === null)
        throw conflict('No delivery wrote this, so only you can remove it at the destination.');
      if (revision !== row.revision) throw conflict('The export was changed since this was found.');
      const repair = await startRepair(engine, tx, row, kind, delivery);
      await noteDeviationRepair(tx, row.id, repair);
      await lookSoon(tx, row);
      record(exportActionEntry('repaired', row, { deviation: id, repair }));
      return repair;
    },
  });
}

async function getDeviation(request: FastifyRequest, db: Queryable): Promise<DeviationRow> {
  const exportId = uuidParameter(request, 'batch_export_id');
  const id = uuidParameter(request, 'id');
  return (await findDeviation(db, request.access, exportId, id)) ?? missing();
}

/** Returns the wire form of the finding, with its sentence and its repair. */
export function shownDeviation(row: DeviationRow): Deviation {
  const {
    revision: _revision,
    present_revision: _present,
    destination_type: _type,
    destination_config: _config,
    timezone: _zone,
    write_rule: _rule,
    model: _model,
    custom_query: _query,
    repair_run_id: run,
    repair_backfill_id: backfill,
    ...shown
  } = row;
  const { kind, differences, delivery } = row;
  const start = delivery?.data_interval_start ?? null;
  const end = delivery?.data_interval_end ?? null;
  const is_past = row.state === 'resolved' || row.revision !== row.present_revision;
  return {
    ...shown,
    detail: deviationSentence(row, { kind, differences, start, end }),
    repair: is_past ? null : shownRepair(row, row, { run, backfill }),
  };
}
