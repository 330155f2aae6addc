import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../../deps.ts';
import { changesOf } from '../../../platform/activity/changes.ts';
import { body } from '../../../platform/http/bodies/body.ts';
import { integerParameter } from '../../../platform/http/caller/access.ts';
import { missing } from '../../../platform/http/errors.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { addList, addRoute, addWrite } from '../../../platform/http/records.ts';
import { getConfig, getLockedConfig } from '../found.ts';
import { filterOf } from './filters.ts';
import {
  Discarded,
  SetAsideEvent,
  SetAsideFilterBody,
  SetAsideQuery,
  SetAsideRecord,
} from './schema.ts';
import { countSetAside, discardSetAside, findSetAside, listSetAside } from './store.ts';

const base = '/api/projects/:project_id/plugin_configs/:id/set_aside/';
const reading = { within: 'project', scope: 'plugin:read' } as const;

/** Routes of the events that a tool did not accept. */
export function setAsideRoutes(app: FastifyInstance, { db }: Deps): void {
  readingRoutes(app, db);
  discardRoute(app);
}

function readingRoutes(app: FastifyInstance, db: Deps['db']): void {
  addList(app, {
    url: base,
    config: reading,
    summary: 'List the events that a tool did not accept, newest first',
    description:
      'The mappings of a tool are its own; those of code are its methods that take events. ' +
      'An event that it refuses does not stop the others: it is set aside, once for each ' +
      'mapping. ' +
      '`replays/` sends these events again. A tool waits when 100,000 events are set aside.',
    querystring: SetAsideQuery,
    answer: SetAsideEvent,
    rows: async (request) => {
      const { id } = await getConfig(db, request);
      const { after, before, event, ...wanted } = query(request, SetAsideQuery);
      const filter = filterOf({
        ...wanted,
        start_at: after ?? null,
        end_at: before ?? null,
        events: event === undefined ? null : [event],
      });
      return listSetAside(id, filter);
    },
  });

  addRoute(app, {
    url: `${base}:set_aside_id/`,
    config: { ...reading, no_store: true },
    summary: 'Retrieve an event that was set aside, with requests and answers',
    response: { 200: SetAsideRecord },
    handler: async (request) => {
      const { id } = await getConfig(db, request);
      return (await findSetAside(db, id, integerParameter(request, 'set_aside_id'))) ?? missing();
    },
  });
}

function discardRoute(app: FastifyInstance): void {
  addWrite(app, {
    url: `${base}discard/`,
    config: { within: 'project', scope: 'plugin:write', level: 8 },
    summary: 'Remove events that were set aside; they cannot be listed again',
    description:
      'The events themselves stay in the project. Without a filter all are removed; ' +
      '`dry_run` counts them. Needs the plugins access level 3.',
    body: SetAsideFilterBody,
    response: { 200: Discarded },
    work: async ({ request, tx, record }) => {
      const config = await getLockedConfig(tx, request);
      const { dry_run = false, ...sent } = body(request, SetAsideFilterBody);
      const filter = filterOf(sent);
      if (dry_run) {
        record('nothing');
        return { discarded: await countSetAside(tx, config.id, filter) };
      }
      const discarded = await discardSetAside(tx, config.id, filter);
      record({
        activity: 'set_aside_discarded',
        scope: 'plugin_config',
        item_id: String(config.id),
        item_name: config.plugin_info.name,
        changes: changesOf(undefined, { discarded, ...sent }),
      });
      return { discarded };
    },
  });
}
