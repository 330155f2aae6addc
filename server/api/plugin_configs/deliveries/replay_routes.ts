import type { FastifyInstance, FastifyRequest } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import type { Deps } from '../../../deps.ts';
import { countEvents } from '../../../engine/plugins/running/read_events.ts';
import { loadConfigVersion } from '../../../engine/plugins/versions.ts';
import { changesOf } from '../../../platform/activity/changes.ts';
import { caughtUpForAnswer } from '../../../platform/clickhouse/topology/caught_up.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { NoFields, body } from '../../../platform/http/bodies/body.ts';
import { uuidParameter } from '../../../platform/http/caller/access.ts';
import { conflict, invalid, missing } from '../../../platform/http/errors.ts';
import type { Entry } from '../../../platform/http/write.ts';
import { addList, addRoute, addWrite } from '../../../platform/http/records.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import { getConfig, getLockedConfig } from '../found.ts';
import type { PluginConfigRow } from '../schema.ts';
import { filterOf } from './filters.ts';
import { NewReplay, Replay, rate_default } from './schema.ts';
import type { ReplayRow } from './schema.ts';
import {
  cancelReplay,
  countOpenReplays,
  countSetAside,
  findLiveStart,
  findReplay,
  insertReplay,
  listReplays,
} from './store.ts';
import type { ReplayWanted } from './store.ts';

const base = '/api/projects/:project_id/plugin_configs/:id/replays/';
const reading = { within: 'project', scope: 'plugin:read' } as const;
const changing = { within: 'project', scope: 'plugin:write', level: 8 } as const;
const open_max = 5;

/** Routes of events that are sent again. */
export function replayRoutes(app: FastifyInstance, deps: Deps): void {
  startRoute(app, deps);
  readingRoutes(app, deps);
  cancelRoute(app);
}

function startRoute(app: FastifyInstance, deps: Deps): void {
  addWrite(app, {
    url: base,
    config: changing,
    summary: 'Send past events to a plugin, or events that it did not accept',
    description:
      'It runs beside current events, with its own cursor and rate. Events may arrive a ' +
      `second time. \`dry_run\` counts them. A plugin can have at most ${open_max} in ` +
      'progress, and they wait while it is disabled. Needs the plugins access level 3.',
    body: NewReplay,
    response: { 200: Replay },
    work: async ({ request, tx, record }) => {
      const config = await getLockedConfig(tx, request);
      const sent = body(request, NewReplay);
      const wanted = await wantedOf(deps, tx, request, config, sent);
      if (sent.dry_run === true) {
        record('nothing');
        return dryRunOf(wanted);
      }
      if ((await countOpenReplays(tx, config.id)) >= open_max)
        throw conflict(
          `The plugin has ${open_max} replays in progress: cancel one, or wait for its end.`,
        );
      await insertReplay(tx, wanted);
      record(entryOf('replay_started', config, { id: wanted.id, ...sent, total: wanted.total }));
      return findReplay(tx, config.id, wanted.id);
    },
  });
}

function readingRoutes(app: FastifyInstance, { db }: Deps): void {
  addList(app, {
    url: base,
    config: reading,
    summary: 'List the replays of a plugin, newest first',
    answer: Replay,
    rows: async (request) => {
      const { id } = await getConfig(db, request);
      return listReplays(id);
    },
  });

  addRoute(app, {
    url: `${base}:replay_id/`,
    config: reading,
    summary: 'Retrieve a replay with its progress',
    response: { 200: Replay },
    handler: async (request) => {
      const { id } = await getConfig(db, request);
      return (await findReplay(db, id, uuidParameter(request, 'replay_id'))) ?? missing();
    },
  });
}

function cancelRoute(app: FastifyInstance): void {
  addWrite(app, {
    url: `${base}:replay_id/cancel/`,
    config: changing,
    summary: 'End it where it stands; what was sent stays sent',
    description: 'Needs the plugins access level 3.',
    response: { 200: Replay },
    work: async ({ request, tx, record }) => {
      const config = await getLockedConfig(tx, request);
      const id = uuidParameter(request, 'replay_id');
      const before = (await findReplay(tx, config.id, id)) ?? missing();
      body(request, NoFields);
      if (!(await cancelReplay(tx, id)))
        throw conflict(`The replay has ended: its state is ${before.state}.`);
      record(entryOf('replay_cancelled', config, { id }));
      return findReplay(tx, config.id, id);
    },
  });
}

function entryOf(activity: string, config: PluginConfigRow, replay: object): Entry {
  return {
    activity,
    scope: 'plugin_config',
    item_id: String(config.id),
    item_name: config.plugin_info.name,
    changes: changesOf(undefined, { replay }),
  };
}

/** Checks the body, and counts the selected events. */
async function wantedOf(
  deps: Deps,
  tx: Transaction,
  request: FastifyRequest,
  config: PluginConfigRow,
  sent: NewReplay,
): Promise<ReplayWanted> {
  // Events that were set aside have times of the control store.
  const now = isoInstant(await databaseInstant(tx));
  const asked = filterOf(sent);
  const live_at = sent.source === 'events' ? await findLiveStart(tx, config.id) : null;
  const isBefore = live_at !== null && Date.parse(asked.start_at ?? '1970') < Date.parse(live_at);
  const filter = { ...asked, end_at: asked.end_at ?? (isBefore ? live_at : now) };
  requireRange(filter, now);
  await requireSource(deps, config, sent);
  const total =
    sent.source === 'set_aside'
      ? await countSetAside(tx, config.id, filter)
      : await caughtUpForAnswer(deps.clickhouse, ['events'], () =>
          countEvents(deps.clickhouse, config.team_id, filter),
        );
  return {
    id: uuidv7(),
    config_id: config.id,
    source: sent.source,
    filter,
    rate: sent.rate ?? rate_default,
    total,
    created_by: request.caller?.user_id ?? null,
  };
}

function requireRange(
  { start_at, end_at }: { start_at: string | null; end_at: string },
  now: string,
): void {
  if (start_at !== null && Date.parse(start_at) >= Date.parse(end_at))
    throw invalid('start_at', 'invalid_input', 'The start must be before the end.');
  if (Date.parse(end_at) > Date.parse(now))
    throw invalid('end_at', 'invalid_input', 'Must not be in the future.');
}

/** Throws 400 for a plugin that gets no events, or for a filter of another source. */
async function requireSource(
  { db, secrets }: Deps,
  config: PluginConfigRow,
  { source, mapping, status, event_uuid, reason }: NewReplay,
): Promise<void> {
  const version = await loadConfigVersion(db, secrets, config.id);
  const takes = ['onEvent', 'exportEvents', 'composeWebhook'];
  if (!takes.some((method) => version.capabilities.methods.includes(method)))
    throw invalid('source', 'invalid_choice', 'The plugin receives no events.');
  if (source === 'set_aside') return;
  for (const [attr, value] of Object.entries({ mapping, status, event_uuid, reason }))
    if (value !== undefined)
      throw invalid(
        attr,
        'invalid_input',
        'Only events that were set aside can be selected by this.',
      );
}

function dryRunOf({ source, filter, rate, total }: ReplayWanted): ReplayRow {
  const { of_event: event_uuid, ...of } = filter;
  return {
    id: null,
    source,
    state: 'DryRun',
    ...of,
    event_uuid,
    rate,
    total,
    done: 0,
    detail: null,
    retry_at: null,
    created_at: null,
    finished_at: null,
  };
}
