import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { isoInstant } from '../../platform/clock.ts';
import type { Keyset } from '../../platform/http/lists/cursor.ts';
import type { ActivityWanted } from './schema.ts';
import { listActivity, mayGoOn } from './store.ts';
import type { ActivityView } from './store.ts';

/** The media type of a file with one JSON object on each line. */
export const lines_type = 'application/x-ndjson';

const read_at_once = 500;

/**
 * Answers every entry that fits as a file with one JSON object on each line. Reads as fast as the
 * client takes it, in portions, so memory does not grow; entries that are written meanwhile are not
 * in it when it begins with the newest. When it breaks off, because a store fails or the caller
 * loses the right to read on, the connection is cut and not ended.
 */
export function answerFile(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  view: ActivityView,
  keyset: Keyset,
  wanted: ActivityWanted,
): FastifyReply {
  const name = `activity-${isoInstant(deps.clock.now()).slice(0, 10)}.ndjson`;
  const portions = request.method === 'HEAD' ? [] : texts(deps, request, view, keyset, wanted);
  return reply
    .type(lines_type)
    .header('content-disposition', `attachment; filename="${name}"`)
    .send(Readable.from(portions, { objectMode: false }));
}

async function* texts(
  { db, clock, log }: Deps,
  request: FastifyRequest,
  view: ActivityView,
  asked: Keyset,
  wanted: ActivityWanted,
): AsyncGenerator<string> {
  const organization_id = view.chain_id === view.caller.user_uuid ? null : view.chain_id;
  let keyset: Keyset = { ...asked, from: undefined, backwards: false, limit: read_at_once };
  try {
    for (;;) {
      const rows = await listActivity(db, view, keyset, wanted);
      if (rows.length > 0) yield rows.map((row) => `${JSON.stringify(row)}\n`).join('');
      const last = rows.at(-1);
      if (last === undefined || rows.length <= read_at_once) return;
      keyset = { ...keyset, from: { value: last.number, id: last.id } };
      // The client may take its time between two portions.
      if (!(await mayGoOn(db, view.caller, organization_id, isoInstant(clock.now()))))
        throw new Error('The caller may no longer read this log.');
    }
  } catch (error) {
    log.warn({ err: error, request_id: request.id }, 'a file of the activity log broke off');
    throw error;
  }
}
