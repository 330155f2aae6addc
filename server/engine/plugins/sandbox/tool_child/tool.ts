import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Seen, WayOut } from './way_out.ts';
import type { ToolOutcome } from '../tool_outcome.ts';
import { deletionOf } from './deletion.ts';
import { outcomeOfError, outcomeOfResults } from './outcome.ts';

/** One destination of the library, loaded. */
export type Tool = { call(method: string, payload: unknown): Promise<unknown> };

/** A person whom the destination shall forget, by one of their ids. */
type Forgetting = { person: object; settings: object };

/** An event for one mapping of the destination, with the settings that it needs for this call. */
type Sending = { event: object; settings: object; mapping: object };

type Definition = {
  name: string;
  slug?: string;
  authentication?: object;
  onDelete?: unknown;
} & Record<string, unknown>;
type Destination = {
  responses: unknown[];
  onEvent(event: object, settings: object): Promise<unknown>;
  onDelete?(person: object, settings: object): Promise<unknown>;
  testAuthentication(settings: object): Promise<void>;
  refreshAccessToken(settings: object, credentials: object): Promise<Refreshed | undefined>;
};
type Refreshed = { accessToken?: string };
type Core = { Destination: new (definition: Definition) => Destination };

/**
 * Loads one destination of the package in the folder. Its name stands for its schemas, and a name
 * with a space is refused there: the slug takes its place.
 */
export function openTool(folder: string, directory: string, way_out: WayOut): Tool {
  const require = createRequire(join(folder, 'package.json'));
  way_out.replaceFetch(require);
  const path = `./dist/destinations/${directory}`;
  const definition = (require(path) as { default: Definition }).default;
  const { Destination } = require('@segment/actions-core') as Core;
  const named = { ...definition, name: definition.slug ?? directory };
  const destination = new Destination({
    ...named,
    ...withoutRefresh(definition),
    ...deletionOf(definition),
  });
  const run = async (work: () => Promise<ToolOutcome>): Promise<ToolOutcome> => {
    const seen = way_out.seen()!;
    let outcome: ToolOutcome;
    try {
      outcome = await work();
    } catch (error) {
      outcome = await outcomeOfError(error, seen);
    } finally {
      // The library keeps every answer here.
      destination.responses.length = 0;
    }
    return refusedFirst(outcome, seen);
  };
  return {
    call: async (method, payload) => {
      if (method === 'describe') return describe(definition);
      const { event, settings, mapping } = payload as Sending;
      if (method === 'refresh') return run(() => refresh(new Destination(named), settings));
      if (method === 'delete')
        return run(() => forget(destination, (payload as Forgetting).person, settings));
      if (method === 'test')
        return run(async () => {
          await destination.testAuthentication(settings);
          return { kind: 'sent' };
        });
      return run(async () =>
        outcomeOfResults(
          await destination.onEvent(event, { ...settings, subscription: mapping }),
          way_out.seen()!,
        ),
      );
    },
  };
}

/**
 * The destination without its own way to a new token: the server stores a token before it is used,
 * so the server refreshes.
 */
function withoutRefresh({ authentication }: Definition): object {
  return authentication === undefined
    ? {}
    : { authentication: { ...authentication, refreshAccessToken: undefined } };
}

/** Fetches a token with the credentials of the settings. */
async function refresh(
  destination: Destination,
  settings: object,
): Promise<ToolOutcome & { access_token?: string }> {
  const answer = await destination.refreshAccessToken(settings, {});
  return { kind: 'sent', access_token: answer?.accessToken ?? '' };
}

async function forget(
  destination: Destination,
  person: object,
  settings: object,
): Promise<ToolOutcome> {
  if (destination.onDelete === undefined) return { kind: 'skipped' };
  await destination.onDelete(person, settings);
  return { kind: 'sent' };
}

/** Tells a refusal of the server as that, whatever the tool made of it. */
function refusedFirst(outcome: ToolOutcome, { refusal }: Seen): ToolOutcome {
  if (outcome.kind === 'sent' || refusal === undefined) return outcome;
  throw new Error(refusal);
}

/** The destination as data: functions fall away. */
function describe({ authentication, audienceConfig, ...definition }: Definition): unknown {
  const { scheme, fields } = (authentication ?? {}) as { scheme?: string; fields?: object };
  const actions = Object.entries(definition['actions'] as Record<string, Action>);
  return {
    name: definition.name,
    slug: definition.slug,
    description: definition['description'],
    scheme: scheme ?? null,
    is_audience: audienceConfig !== undefined,
    settings: fields ?? {},
    actions: Object.fromEntries(
      actions.map(([key, action]) => [
        key,
        {
          title: action.title,
          description: action.description,
          subscribe: action.defaultSubscription,
          sync_mode: action.syncMode?.default,
          fields: action.fields,
        },
      ]),
    ),
    presets: definition['presets'] ?? [],
  };
}

type Action = {
  title?: string;
  description?: string;
  defaultSubscription?: string;
  syncMode?: { default?: string };
  fields: object;
};
