import type { FastifyRequest } from 'fastify';
import type { Engine } from '../../../engine/exports/engine.ts';
import { jsonBody } from '../../../platform/http/bodies/body.ts';
import { withOwnNames } from '../aliases.ts';
import { checkChangedExport } from '../body/changed_export.ts';
import { checkContent } from '../body/query_check.ts';
import { checkConnection } from '../body/used_connection.ts';
import { getLockedExport } from '../found.ts';
import { changesDelivery } from '../revision.ts';
import { countDelivered } from '../store.ts';
import type { ChangeEffect } from './schema.ts';

type Counts = { delivered_records: number; open_runs: number };

/**
 * Returns the effect of a change of the path's export; changes nothing. Throws 404, 412 and 400 as
 * PATCH does.
 */
export async function effectOfChange(
  engine: Engine,
  request: FastifyRequest,
): Promise<ChangeEffect> {
  const row = await engine.db.transaction((tx) => getLockedExport(request, tx));
  const raw = withOwnNames(jsonBody(request));
  const query = await checkContent(engine, raw, row);
  const connection = await checkConnection(engine, engine.db, request.access, {
    raw,
    current: row.connection_id,
  });
  const change = checkChangedExport(engine, { row, raw, how: 'patch', query, connection });
  if (!changesDelivery(change))
    return {
      starts_anew: false,
      delivered_records: 0,
      open_runs: 0,
      detail: 'Delivered rows still count; nothing is delivered again.',
    };
  const { delivered_records, open_runs } = await countDelivered(engine.db, [row.id]);
  const counts = { delivered_records, open_runs };
  return { starts_anew: true, ...counts, detail: sentenceOf(counts) };
}

function sentenceOf({ delivered_records, open_runs }: Counts): string {
  const rows = `${delivered_records.toLocaleString('en')} delivered row`;
  const runs = `${open_runs.toLocaleString('en')} run`;
  return [
    'The export restarts.',
    delivered_records === 0
      ? 'It has not delivered any row yet.'
      : delivered_records === 1
        ? `${rows} no longer counts: it stays where it is, and a backfill delivers it again.`
        : `${rows}s no longer count: they stay where they are, and a backfill delivers them again.`,
    ...(open_runs === 0
      ? []
      : [`${runs}${open_runs === 1 ? ' is' : 's are'} taken back and planned again.`]),
  ].join(' ');
}
