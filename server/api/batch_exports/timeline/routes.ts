import type { FastifyInstance } from 'fastify';
import type { Engine } from '../../../engine/exports/engine.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { satisfying } from '../../../platform/http/caller/scopes.ts';
import { answerKeyset, keysetAsked } from '../../../platform/http/lists/cursor.ts';
import { inReadTurn, ownerOf } from '../../../platform/http/limits/owner_turns.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import { choicesAsked } from '../body/choices.ts';
import { getPresence } from '../found.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { Timeline, TimelineFilter, TimelineQuery, entry_types, timeline_orders } from './schema.ts';
import { listTimeline } from './store.ts';
import type { TimelineWanted } from './store.ts';

const people = satisfying('activity_log:read');

/** Route `timeline/` of an export: all its events in one stream. */
export function timelineRoutes(
  app: FastifyInstance,
  engine: Engine,
  { base, within }: Mount,
): void {
  const schema = {
    summary: 'List the history of a batch export: runs, changes, pauses, backfills, notices',
    description:
      'Newest first. Similar runs share one entry per day; a group of the current day moves up ' +
      'as it grows.',
    querystring: TimelineQuery,
    response: { 200: Timeline },
  };
  app.get(
    `${base}:id/timeline/`,
    { config: { scope: 'batch_export:read', within }, schema },
    async (request) => {
      const { id, created_at } = await getPresence(request, engine.db);
      const keyset = keysetAsked(request, timeline_orders);
      const types = choicesAsked(request, 'type', entry_types) ?? [...entry_types];
      const wanted = {
        ...query(request, TimelineFilter),
        organization_id: request.access.organization_id,
        export_id: id,
        created_at,
        now: isoInstant(await databaseInstant(engine.db)),
        types: types as TimelineWanted['types'],
        sees_people: request.caller.scopes.some((scope) => people.has(scope)),
      };
      const { after, before } = wanted;
      const entries = await inReadTurn(ownerOf(request), () =>
        listTimeline(engine.db, { ...wanted, after, before }, keyset),
      );
      return answerKeyset(request, keyset, entries);
    },
  );
}
