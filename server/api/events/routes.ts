import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { sharedIngestion } from '../../engine/ingest/one_ingestion.ts';
import type { Ingestion } from '../../engine/ingest/batcher.ts';
import { refuseAgentBeside } from '../../platform/http/caller/agent.ts';
import { diskFull } from '../../platform/http/health/disk_full.ts';
import { out_of_files } from '../../platform/open_files.ts';
import { checkOnly, takeLines, takeList } from '../../engine/ingest/stream.ts';
import type { FaultyList } from '../../engine/ingest/parse/event_list.ts';
import type { Taken } from '../../engine/ingest/stream.ts';
import { examples_max } from '../../engine/ingest/warnings/store.ts';
import type { NoteWarning } from '../../engine/ingest/warnings/warning.ts';
import { sharedWarnings } from '../../engine/ingest/warnings/warnings.ts';
import {
  ApiError,
  invalid,
  invalidMany,
  notFound,
  notJson,
  unavailable,
  unparsable,
  unsupportedMediaType,
} from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { isValidateOnly, query } from '../../platform/http/lists/query.ts';
import { addRoute } from '../../platform/http/records.ts';
import { events_size_bytes_max, eventsSent, line_media_types } from './body.ts';
import type { EventsSent } from './body.ts';
import { countsRoute } from './counts.ts';
import { openEventLimits } from './limits.ts';
import type { EventLimits } from './limits.ts';
import { EventsBody, EventsTaken, NewestEvents, NewestQuery, looked_at_max } from './schema.ts';
import { listNewestEvents } from './store.ts';

const url = '/api/projects/:project_id/events/';
const description =
  'The body is a list of events as JSON (up to 20 MiB), or one event per line as ' +
  '`application/x-ndjson` (any size, streamed), plain or with `Content-Encoding: gzip`.\n\n200 ' +
  'means that every event counted under `taken` is stored and survives a crash. The answer ' +
  'names bad events, and the others are stored. If all are bad, the answer is 400.';

/** Routes of `/api/projects/:project_id/events/`: send events, and list the newest. */
export function eventRoutes(app: FastifyInstance, deps: Deps): void {
  const limits = openEventLimits(app, deps);
  app.addContentTypeParser(line_media_types, (_request, _stream, done) =>
    done(unsupportedMediaType('Send the body as "Content-Type: application/json" in UTF-8.')),
  );
  newestRoute(app, deps);
  countsRoute(app, deps);
  // A Fastify instance of its own, because bodies are read differently.
  void app.register(async (instance) => {
    readBodies(instance, limits);
    takeRoute(instance, deps, limits);
  });
}

/** Returns the owner of bodies: one project's bodies never block another project's. */
const ownerOf = ({ access }: FastifyRequest) => String(access.team_id);

/** Reads lines on demand, and JSON as a whole, if there is room. */
function readBodies(instance: FastifyInstance, { arrivals }: EventLimits): void {
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser(line_media_types, (request: FastifyRequest, stream, done) => {
    // An answer cannot be stored for a body that is unknown when it starts. The uuids of the events
    // make a repeat harmless.
    delete request.raw.headers['idempotency-key'];
    done(null, stream);
  });
  instance.addContentTypeParser('*', (request, stream, done) => {
    const says_bytes = Number(request.headers['content-length'] ?? 0);
    const bytes_max = events_size_bytes_max;
    arrivals.read(stream, { owner: ownerOf(request), says_bytes, bytes_max }, done);
  });
}

function takeRoute(app: FastifyInstance, deps: Deps, { room }: EventLimits): void {
  const { clock, metrics } = deps;
  const ingestion = sharedIngestion(deps);
  app.addHook('onClose', () => ingestion.drain());
  app.post(
    url,
    {
      bodyLimit: events_size_bytes_max,
      config: { scope: 'event:write', within: 'project' },
      schema: {
        summary: 'Send events',
        description,
        body: EventsBody,
        response: { 200: EventsTaken },
      },
    },
    async (request: FastifyRequest, _reply: FastifyReply) => {
      if (!isValidateOnly(request)) await refuseAgentBeside(deps.db, request);
      const place = room.enter(ownerOf(request));
      let taken: Answered;
      try {
        const used = isValidateOnly(request) ? checkOnly(ingestion) : ingestion;
        const sent = await eventsSent(request, place.hold);
        taken = await take(used, request.access.team_id!, sent, () => clock.now(), place.hold);
      } finally {
        place.leave();
      }
      if (!isValidateOnly(request)) {
        for (const outcome of ['taken', 'duplicates', 'dropped', 'rejected'] as const)
          if (taken[outcome] > 0) metrics.events_taken.inc({ outcome }, taken[outcome]);
        warnOf(sharedWarnings(deps).note, request.access.team_id!, taken);
      }
      return answer(taken);
    },
  );
}

/** Records the number of refused events, with the error of the first one. */
function warnOf(note: NoteWarning, team_id: number, { rejected, problems }: Taken): void {
  for (const [index, { attr, detail }] of problems.slice(0, examples_max).entries())
    note({
      team_id,
      reason: 'event_invalid',
      example: { from: 'events', sent: attr === null ? detail : `${attr}: ${detail}` },
      events: index === 0 ? rejected : 0,
    });
}

const newest_default = 20;

function newestRoute(app: FastifyInstance, { clickhouse }: Deps): void {
  addRoute(app, {
    url,
    config: { scope: 'batch_export:read', within: 'project' },
    summary: 'List the newest stored events',
    description:
      'Shows that events arrive, and which. Use exports for everything else. With a ' +
      `filter, Sluice searches the newest ${looked_at_max.toLocaleString('en')} events.`,
    querystring: NewestQuery,
    response: { 200: NewestEvents },
    handler: async (request) => {
      const { limit = newest_default, ...filter } = query(request, NewestQuery);
      if (filter.value !== undefined && filter.property === undefined)
        throw invalid('value', 'required', 'Send the property that has the value.');
      const team_id = request.access.team_id!;
      return { results: await listNewestEvents(clickhouse, team_id, limit, filter) };
    },
  });
}

/**
 * The result for the events. `named` is the prefix of an event's place in the names of its fields;
 * undefined for a single event without a list.
 */
type Answered = Taken & { named: 'lines' | 'events' | undefined };

async function take(
  ingestion: Ingestion,
  teamId: number,
  sent: EventsSent,
  now: () => number,
  hold: (bytes: number) => void,
): Promise<Answered> {
  if (sent.lines !== undefined)
    return { ...(await takeLines(ingestion, teamId, sent.lines, now, hold)), named: 'lines' };
  const taken = await takeList(ingestion, teamId, sent.json, now);
  if ('fault' in taken) throw faultError(taken);
  return { ...taken, named: taken.is_list ? 'events' : undefined };
}

function faultError({ fault, place }: FaultyList): ApiError {
  switch (fault) {
    case 'not_utf8':
      return unparsable('The body is not UTF-8 text.');
    case 'too_many':
      return unparsable('The body has more than two million values: send fewer events at a time.');
    case 'not_json':
      return notJson(place!);
    case 'too_deep':
      return unparsable('The body is nested too deeply.');
    case 'not_an_object':
      return invalid(null, 'invalid_input', 'The body must be an object with the list `events`.');
    case 'required':
      return invalid('events', 'required', 'This field is required.');
    case 'null':
    case 'not_a_list':
      return invalid('events', fault, 'Must be a list.');
  }
}

function answer(result: Answered) {
  const { taken, duplicates, refused, dropped, rejected } = result;
  if (result.failure === 'project_gone') throw notFound();
  if (result.failure !== undefined) throw notStored(result);
  // A line without room in memory is no fault of the body.
  if (result.broken?.error instanceof ApiError) throw notStored(result);
  if (result.broken !== undefined)
    throw unparsable(
      `The body broke off or its gzip data is broken behind line ${result.broken.after_line}; ` +
        `new events before it that are stored: ${taken}.`,
    );
  const errors = result.problems.map(({ position, attr, code, detail }) => ({
    line: result.named === 'lines' ? position : null,
    ...placed(result, position, attr),
    code,
    detail,
  }));
  if (rejected > 0 && taken + duplicates + refused + dropped === 0)
    throw invalidMany(errors.map(({ attr, code, detail }): Violation => ({ attr, code, detail })));
  return { taken, duplicates, refused, dropped, rejected, errors };
}

function placed(
  { named }: Answered,
  position: number,
  attr: string | null,
): { attr: string | null } {
  if (named === undefined) return { attr };
  const place = `${named}__${position}`;
  return { attr: attr === null ? place : `${place}__${attr}` };
}

function notStored({ taken, failure }: Taken): ApiError {
  if (failure === 'disk_full') return diskFull(taken);
  if (failure === 'out_of_files') return unavailable(out_of_files);
  const detail =
    `The store did not take all events; ${taken} of them are stored. Send the request again: ` +
    'events that carry a uuid are not doubled.';
  return unavailable(detail, 2);
}
