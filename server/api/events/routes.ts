import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { openIngestion } from '../../engine/ingest/batcher.ts';
import type { Ingestion } from '../../engine/ingest/batcher.ts';
import { checkOnly, takeEvents, takeLines } from '../../engine/ingest/stream.ts';
import type { Taken } from '../../engine/ingest/stream.ts';
import {
  ApiError,
  invalidMany,
  notFound,
  unparsable,
  unsupportedMediaType,
} from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { isValidateOnly } from '../../platform/http/query.ts';
import { eventsSent, line_media_types } from './body.ts';
import type { EventsSent } from './body.ts';
import { EventsBody, EventsTaken } from './schema.ts';

const url = '/api/projects/:project_id/events/';
const description = `The body is a list of events as JSON (up to 20 MiB), or an event on each line as \`application/x-ndjson\` (any size, read as it comes), plain or with \`Content-Encoding: gzip\`.

200 means that every event counted under \`taken\` is stored and survives a crash. Bad events are named and the others are stored; when all are bad the answer is 400.`;

/** `/api/projects/:project_id/events/`: events in. */
export function eventRoutes(app: FastifyInstance, deps: Deps): void {
  const { db, clickhouse, log, clock, metrics, config } = deps;
  const ingestion = openIngestion({ db, clickhouse, log, settle_seconds: config.settle_seconds });
  app.addHook('onClose', () => ingestion.drain());
  app.addContentTypeParser(line_media_types, (request: FastifyRequest, stream, done) => {
    if (request.routeOptions.url !== url)
      return done(
        unsupportedMediaType('Send the body as "Content-Type: application/json" in UTF-8.'),
      );
    // An answer cannot be kept for a body that is not known when it begins; the uuids of the events are what makes a repeat harmless.
    delete request.raw.headers['idempotency-key'];
    done(null, stream);
  });

  app.post(
    url,
    {
      config: { scope: 'event:write', within: 'project' },
      schema: {
        summary: 'Send events',
        description,
        body: EventsBody,
        response: { 200: EventsTaken },
      },
    },
    async (request: FastifyRequest, _reply: FastifyReply) => {
      const sent = await eventsSent(request);
      const taken = await take(
        isValidateOnly(request) ? checkOnly : ingestion,
        request.access.team_id!,
        sent,
        () => clock.now(),
      );
      if (!isValidateOnly(request)) {
        for (const outcome of ['taken', 'duplicates', 'rejected'] as const)
          if (taken[outcome] > 0) metrics.events_taken.inc({ outcome }, taken[outcome]);
      }
      return answer(taken, sent);
    },
  );
}

function take(
  ingestion: Ingestion,
  teamId: number,
  sent: EventsSent,
  now: () => number,
): Promise<Taken> {
  return sent.lines === undefined
    ? takeEvents(ingestion, teamId, sent.values, now)
    : takeLines(ingestion, teamId, sent.lines, now);
}

function answer(result: Taken, sent: EventsSent) {
  const { taken, duplicates, rejected } = result;
  if (result.failure === 'project_gone') throw notFound();
  if (result.failure !== undefined) throw notStored(result);
  if (result.broken !== undefined)
    throw unparsable(
      `The body broke off or its gzip data is broken behind line ${result.broken.after_line}; ${taken} new events before it are stored.`,
    );
  const errors = result.problems.map(({ position, attr, code, detail }) => ({
    line: sent.lines === undefined ? null : position,
    ...placed(sent, position, attr),
    code,
    detail,
  }));
  if (rejected > 0 && taken + duplicates === 0)
    throw invalidMany(errors.map(({ attr, code, detail }): Violation => ({ attr, code, detail })));
  return { taken, duplicates, rejected, errors };
}

function placed(sent: EventsSent, position: number, attr: string | null): { attr: string | null } {
  const place =
    sent.lines !== undefined
      ? `lines__${position}`
      : sent.isList
        ? `events__${position}`
        : undefined;
  return { attr: place === undefined ? attr : attr === null ? place : `${place}__${attr}` };
}

function notStored({ taken }: Taken): ApiError {
  const detail = `The store did not take all events; ${taken} of them are stored. Send the request again: events that carry a uuid are not doubled.`;
  return new ApiError(503, 'server_error', [{ attr: null, code: 'unavailable', detail }], {
    'retry-after': '2',
  });
}
