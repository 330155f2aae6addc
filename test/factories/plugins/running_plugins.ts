import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { listenLocally } from '../../servers/loopback.ts';
import type { Answer, Harness, TestOrganization } from '../../harness.ts';
import { emptyRecord, platformInMemory } from './plugin_sandbox.ts';
import { packageFiles, writtenPlugin } from './plugins.ts';

/** An endpoint on 127.0.0.1 to which plugins send JSON. */
export type PluginTarget = {
  url: string;
  /** The bodies that were answered with 200, in order. */
  taken: any[];
  /**
   * Returns the answer to a request: a status, or undefined for 200. Called in the order of
   * arrival.
   */
  answer: (body: any, path: string) => number | undefined;
  /** A request waits for this promise before its answer. */
  before_answer: (body: any) => Promise<void>;
  close(): Promise<void>;
};

/** Opens an endpoint that accepts everything. */
export async function openPluginTarget(): Promise<PluginTarget> {
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await textOf(request);
    const body: unknown = text === '' ? null : JSON.parse(text);
    await target.before_answer(body);
    const status = target.answer(body, request.url ?? '/') ?? 200;
    if (status === 200) target.taken.push(body);
    response.writeHead(status).end();
  };
  const server = createServer(
    (request, response) => void serve(request, response).catch(() => response.destroy()),
  );
  const { port, close } = await listenLocally(server);
  const target: PluginTarget = {
    url: `http://127.0.0.1:${port}`,
    taken: [],
    answer: () => undefined,
    before_answer: async () => {},
    close,
  };
  return target;
}

/**
 * Keeps the server's sandbox process until the server closes, like other plugins of a server do.
 * Otherwise each test would start another one with its first plugin.
 */
export async function keepSandbox({ deps }: Harness): Promise<void> {
  await deps.sandbox.load({
    id: 'one that is there',
    code: 'exports.onEvent = () => {};',
    config: {},
    allowed_hosts: [],
    host: platformInMemory(emptyRecord()),
  });
}

/** Fields of a plugin that sends requests. */
export const target_fields = [
  { key: 'address', type: 'string', required: true },
  { key: 'secret', type: 'string', secret: true },
  { key: 'exportEventsBufferSeconds', type: 'string', default: '1' },
];

/**
 * Creates a plugin with this code and enables it in the organization's project; returns the
 * addresses of both and the config's answer.
 */
export async function enabledPlugin(
  harness: Harness,
  home: TestOrganization,
  collection: 'pipeline_destinations' | 'pipeline_import_apps' | 'pipeline_frontend_apps',
  code: string,
  settings: {
    config?: Record<string, unknown>;
    fields?: unknown[];
    order?: number;
    file?: string;
    publicJobs?: unknown;
    allowed_hosts?: string[];
  } = {},
): Promise<{ plugin: string; url: string; id: number }> {
  const standard = collection === 'pipeline_frontend_apps' ? 'site.ts' : 'index.ts';
  const file = settings.file ?? standard;
  const files = packageFiles(
    collection,
    {
      name: `Plugin ${randomUUID().slice(0, 8)}`,
      config: settings.fields ?? target_fields,
      publicJobs: settings.publicJobs ?? {},
    },
    { [file]: code },
  );
  const { id: plugin, url } = await writtenPlugin(harness, home, collection, files);
  const list = `/api/projects/${home.project.id}/plugin_configs/`;
  const body = {
    plugin,
    enabled: true,
    config: settings.config ?? {},
    allowed_hosts: settings.allowed_hosts ?? ['127.0.0.1'],
    order: settings.order ?? 0,
  };
  const answer = await home.ask('POST', list, body);
  if (answer.status !== 201) throw new Error(`The plugin could not be enabled: ${answer.text}`);
  return { plugin: url, url: `${list}${answer.body.id}/`, id: answer.body.id };
}

/** Sends this many events in one request. */
export async function sendEvents(
  home: TestOrganization,
  count: number,
  event = 'sent',
): Promise<void> {
  const events = Array.from({ length: count }, (_, number) => ({
    uuid: randomUUID(),
    event,
    distinct_id: `person-${number % 10}`,
    properties: { number },
  }));
  const answer = await home.ask('POST', `/api/projects/${home.project.id}/events/`, { events });
  if (answer.status !== 200) throw new Error(`The events were not taken: ${answer.text}`);
}

/** Returns the project's events in the order in which tools get them. */
export async function storedEvents(
  harness: Harness,
  team_id: number,
): Promise<
  { uuid: string; event: string; distinct_id: string; properties: string; timestamp: string }[]
> {
  return harness.deps.clickhouse.rows({
    query:
      'SELECT uuid, event, distinct_id, properties, timestamp FROM events WHERE team_id = ' +
      '{team_id:Int64} ORDER BY inserted_at, timestamp, uuid',
    query_params: { team_id },
  });
}

/**
 * Fails unless exactly these events were accepted, each once, and the events of each person in
 * their order. `taken`: uuids.
 */
export function assertTaken(
  taken: string[],
  wanted: { uuid: string; distinct_id: string }[],
): void {
  assert.deepEqual(taken.toSorted(), wanted.map(({ uuid }) => uuid).toSorted());
  const persons = Map.groupBy(wanted, ({ distinct_id }) => distinct_id);
  for (const events of persons.values()) {
    const own = new Set(events.map(({ uuid }) => uuid));
    assert.deepEqual(
      taken.filter((uuid) => own.has(uuid)),
      [...own],
    );
  }
}

/** The lines of a config's log, oldest first, as `LEVEL message`. */
export async function logLines(home: TestOrganization, url: string): Promise<string[]> {
  const answer: Answer = await home.ask('GET', `${url}logs/?limit=1000`);
  return answer.body.results
    .map(({ level, message }: { level: string; message: string }) => `${level} ${message}`)
    .toReversed();
}
