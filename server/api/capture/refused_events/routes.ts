import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../../deps.ts';
import { body } from '../../../platform/http/bodies/body.ts';
import { uuidParameter } from '../../../platform/http/caller/access.ts';
import { refuseAgentBeside } from '../../../platform/http/caller/agent.ts';
import { missing } from '../../../platform/http/errors.ts';
import { isValidateOnly, query } from '../../../platform/http/lists/query.ts';
import { addList } from '../../../platform/http/records.ts';
import {
  RefusedEvent,
  RefusedEventContent,
  RefusedEventsQuery,
  ResendOne,
  ResendSeveral,
  ResentEvent,
  ResentEvents,
} from './schema.ts';
import { sendAgain } from './send_again.ts';
import type { SentAgain } from './send_again.ts';
import { findRefusedEvent, listRefusedEvents, oldestRefusedEvents } from './store.ts';

const list = '/api/projects/:project_id/refused_events/';
const reading = { scope: 'batch_export:read', within: 'project' } as const;
const sending = { scope: 'event:write', within: 'project' } as const;
/** A corrected content is JSON within JSON, so its quotes are escaped. */
const body_size_bytes_max = 10 * 1024 * 1024;
/** Most events that one request sends again, and events sent at a time. */
const rows_max = 500;
const at_once = 50;

/**
 * Routes of `/api/projects/:project_id/refused_events/`: refused events of SDKs, kept for some days
 * so that people can send them again.
 */
export function refusedEventRoutes(app: FastifyInstance, deps: Deps): void {
  readRoutes(app, deps);
  resendRoutes(app, deps);
}

function readRoutes(app: FastifyInstance, { db }: Deps): void {
  addList(app, {
    url: list,
    config: reading,
    summary: 'List the refused events of a project, newest first',
    description:
      'Refused events of SDKs with their bytes, for as many days as ' +
      '`SLUICE_REFUSED_EVENTS_DAYS` says. At most 20 MiB are kept for each project and ' +
      'day.',
    querystring: RefusedEventsQuery,
    answer: RefusedEvent,
    rows: (request) => {
      const { reason } = query(request, RefusedEventsQuery);
      const rows = listRefusedEvents(request.access.team_id!, reason);
      return rows;
    },
  });

  app.get(
    `${list}:id/`,
    {
      config: reading,
      schema: {
        summary: 'Retrieve a refused event with its content',
        response: { 200: RefusedEventContent },
      },
    },
    async (request) => {
      const { team_id: _team, content, ...row } = await getRefused(db, request);
      return {
        ...row,
        content: content.toString(),
        content_base64: content.toString('base64'),
      };
    },
  );
}

function resendRoutes(app: FastifyInstance, deps: Deps): void {
  app.post(
    `${list}:id/resend/`,
    {
      bodyLimit: body_size_bytes_max,
      config: sending,
      schema: {
        summary: 'Send a refused event again, unchanged or corrected',
        body: ResendOne,
        response: { 200: ResentEvent },
      },
    },
    async (request) => {
      const { content } = body(request, ResendOne);
      const kept = await getRefused(deps.db, request);
      if (isValidateOnly(request)) return { id: kept.id, outcome: 'refused', detail: kept.detail };
      await refuseAgentBeside(deps.db, request);
      return sendAgain(
        deps,
        content === undefined ? kept : { ...kept, content: Buffer.from(content) },
      );
    },
  );

  app.post(
    `${list}resend/`,
    {
      config: sending,
      schema: {
        summary: 'Send refused events again, unchanged',
        description: `The oldest first, at most ${rows_max} in a request.`,
        body: ResendSeveral,
        response: { 200: ResentEvents },
      },
    },
    async (request) => {
      const wanted = body(request, ResendSeveral);
      const results: SentAgain[] = [];
      const is_only_checked = isValidateOnly(request);
      if (!is_only_checked) await refuseAgentBeside(deps.db, request);
      const team_id = request.access.team_id!;
      const kept = is_only_checked
        ? []
        : await oldestRefusedEvents(deps.db, team_id, wanted, rows_max);
      for (let from = 0; from < kept.length; from += at_once)
        results.push(
          ...(await Promise.all(
            kept.slice(from, from + at_once).map((one) => sendAgain(deps, one)),
          )),
        );
      const stored = results.filter(({ outcome }) => outcome === 'stored').length;
      return {
        stored,
        refused: results.length - stored,
        next_after: kept.length < rows_max ? null : kept.at(-1)!.id,
        results,
      };
    },
  );
}

async function getRefused(db: Deps['db'], request: FastifyRequest) {
  const found = await findRefusedEvent(db, request.access.team_id!, uuidParameter(request, 'id'));
  return found ?? missing();
}
