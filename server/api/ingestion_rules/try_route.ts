import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { parseExact } from '../../engine/ingest/parse/exact_json.ts';
import { parseEvent } from '../../engine/ingest/parse/parse.ts';
import { findWishes } from '../../engine/ingest/rules/find_intake.ts';
import { judgeOf } from '../../engine/ingest/rules/intake.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { missing } from '../../platform/http/errors.ts';
import { addRoute } from '../../platform/http/records.ts';
import { TriedEvent, TriedOutcome } from './schema.ts';

/** Route `try/`, which shows the result of an event by running the code of ingestion. */
export function tryRoute(app: FastifyInstance, { db, secrets, clock }: Deps): void {
  addRoute(app, {
    method: 'POST',
    url: '/api/projects/:project_id/ingestion_rules/try/',
    // For members who may change rules: many tries could guess a hashed value.
    config: { scope: 'project:write', within: 'project', level: 8 },
    summary: 'Show what ingestion would store of an event',
    description: 'Applies the current rules and tracking plan. Stores nothing.',
    body: TriedEvent,
    response: { 200: TriedOutcome },
    handler: async (request) => {
      const { event: text, user_agent } = body(request, TriedEvent);
      const wishes = (await findWishes(db, secrets, request.access.team_id!)) ?? missing();
      const judge = judgeOf(wishes);
      const read = parseEvent(text, clock.now(), (name, properties) =>
        judge(name, properties, user_agent),
      );
      const nothing = { event: null, changed_by: [], off_plan: null, problems: [] };
      if (read.dropped_by !== undefined)
        return { ...nothing, outcome: 'dropped', changed_by: [read.dropped_by] };
      if (read.event === undefined)
        return {
          ...nothing,
          outcome: 'refused',
          problems: read.problems.map(({ attr, detail }) => ({ attr, detail })),
        };
      const { uuid, event, distinct_id, timestamp, properties, changed_by, off_plan } = read.event;
      const at = `${timestamp.replace(' ', 'T')}Z`;
      const stored = {
        uuid,
        event,
        distinct_id,
        timestamp: at,
        properties: parseExact(properties),
      };
      return {
        ...nothing,
        outcome: 'stored',
        event: JSON.stringify(stored, undefined, 2),
        changed_by: changed_by ?? [],
        off_plan: off_plan ?? null,
      };
    },
  });
}
