import type { FastifyRequest } from 'fastify';
import { timesOf } from '../../../engine/exports/planning/backfill_area.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { isReplacing } from '../../../engine/model/destination/write_mode.ts';
import { jsonBody } from '../../../platform/http/bodies/body.ts';
import { withOwnNames } from '../aliases.ts';
import { checkChangedExport } from '../body/changed_export.ts';
import { checkContent } from '../body/query_check.ts';
import { checkConnection } from '../body/used_connection.ts';
import { getLockedExport } from '../found.ts';
import { changesDelivery } from '../revision.ts';
import { countDelivered } from '../store.ts';
import { listDeliveredRanges } from './delivered_ranges.ts';
import { placeWords } from './place_words.ts';
import type { ChangeEffect } from './schema.ts';

type Restart = Pick<
  ChangeEffect,
  'delivered_records' | 'open_runs' | 'place_before' | 'place_after'
>;

/**
 * Returns the effect of a change to the path's export; changes nothing. Throws 404, 412 and 400 as
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
  const { before, sink } = change;
  const places = {
    place_before: placeWords(before),
    place_after: placeWords(sink?.destination ?? before),
  };
  if (!changesDelivery(change))
    return {
      starts_anew: false,
      delivered_records: 0,
      open_runs: 0,
      ...places,
      delivered: [],
      detail: 'Delivered rows still count; nothing is delivered again.',
    };
  const { delivered_records, open_runs } = await countDelivered(engine.db, [row.id]);
  const restart = { delivered_records, open_runs, ...places };
  const replaces = isReplacing(change.write_rule);
  if (replaces)
    return { starts_anew: true, ...restart, delivered: [], detail: sentenceOf(restart, replaces) };
  const times = timesOf(query.content.model);
  const ranges = delivered_records === 0 ? [] : await listDeliveredRanges(engine.db, row.id);
  // Rows of another model may not have this clock.
  const delivered = ranges.filter(({ by }) => times.includes(by));
  return { starts_anew: true, ...restart, delivered, detail: sentenceOf(restart, replaces) };
}

function sentenceOf(
  { delivered_records, open_runs, ...places }: Restart,
  replaces: boolean,
): string {
  const rows = `${delivered_records.toLocaleString('en')} delivered row`;
  const runs = `${open_runs.toLocaleString('en')} run`;
  const { place_before, place_after } = places;
  const is_same = place_before === place_after;
  const stay = `${rows}${delivered_records === 1 ? ' stays' : 's stay'} in ${place_before}.`;
  const them = delivered_records === 1 ? 'it' : 'them';
  const delivered = replaces
    ? `${is_same ? '' : `${stay} `}The next run replaces all rows in ${place_after}.`
    : `${stay} Sluice delivers ${them} again only by a backfill.`;
  return [
    is_same
      ? `The export restarts and delivers to the same place: ${place_after}.`
      : `The export restarts and delivers new rows to ${place_after}.`,
    delivered_records === 0 ? 'It has not delivered any row yet.' : delivered,
    ...(open_runs === 0
      ? []
      : [`${runs}${open_runs === 1 ? ' is' : 's are'} cancelled and planned again.`]),
  ].join(' ');
}
