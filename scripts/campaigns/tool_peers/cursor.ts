import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { openDeployment } from '../../../test/chaos/deployment.ts';
import type { Deployment } from '../../../test/chaos/deployment.ts';
import { until } from '../../../test/processes/server_process.ts';
import { listenLocally } from '../../../test/servers/loopback.ts';
import type { Kafka } from '../../../test/tool_peers/kafka.ts';

const [requests, events_each, persons] = [30, 50, 20];
const wait_ms_max = 300_000;
const batch_size = 100;
const topic = 'cursor';

/** An event as a peer stores it. */
type Kept = { id: string; person: string };

/**
 * Sends events by Kafka and Webhook in batches, through a whole deployment and its cursor. Kills
 * both workers with -9 after a third has arrived. Each event must arrive at both peers, in the
 * order of its person. Returns the result.
 */
export async function playCursor(kafka: Kafka, settings: object): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-tool-cursor-'));
  const webhook = await openWebhook();
  const deployment = await openDeployment(folder);
  try {
    await deployment.up();
    await install(deployment, 'Kafka', settings, {
      topic,
      payload: { id: { '@path': '$.messageId' }, person: { '@path': '$.userId' } },
      key: { '@path': '$.userId' },
      enable_batching: true,
    });
    await install(
      deployment,
      'Webhook',
      {},
      { url: webhook.url, method: 'POST', data: { '@path': '$.' } },
    );
    const sent: Kept[] = [];
    const sendHalf = async () => {
      for (let number = 0; number < requests / 2; number += 1)
        sent.push(...(await sendEvents(deployment)));
    };
    await sendHalf();
    const third = (2 * sent.length) / 3;
    await until('a third of all events', wait_ms_max, 20, async () =>
      keptBy(kafka).length >= third && webhook.kept.length >= third ? true : undefined,
    );
    for (const victim of ['worker 1', 'worker 2'] as const) deployment.kill(victim);
    await sendHalf();
    const peers = { Kafka: () => keptBy(kafka), Webhook: () => webhook.kept };
    const told = [];
    for (const [name, kept] of Object.entries(peers))
      told.push(`${name} has all with ${await compared(name, sent, kept)} repeats`);
    const count = batchesOf(kafka.kept(topic)).length;
    return (
      `${sent.length} events by the cursor, with both workers killed after a third: ` +
      `${told.join(', ')}; ${count} batches at Kafka, ${webhook.counts.requests} at Webhook`
    );
  } finally {
    await deployment.close();
    await webhook.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function install(
  { call }: Deployment,
  name: string,
  settings: object,
  mapping: object,
): Promise<void> {
  const ask = async (path: string, body: object) => {
    const answer = await call('POST', path, body);
    if (answer.status !== 201) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body['id'];
  };
  const plugin_type = 'repository';
  const collection = '/api/organizations/@current/pipeline_destinations/';
  const plugin = await ask(collection, { plugin_type, name });
  const one = { name: 'All', partnerAction: 'send', subscribe: 'type = "track"' };
  const mappings = JSON.stringify([{ ...one, mapping: { ...mapping, batch_size } }]);
  await ask('/api/projects/@current/plugin_configs/', {
    plugin,
    enabled: true,
    config: { ...settings, mappings },
    allowed_hosts: ['127.0.0.1'],
  });
}

/** Sends events of each person; returns them in their order. */
async function sendEvents({ call }: Deployment): Promise<Kept[]> {
  const events = Array.from({ length: events_each }, (_, at) => ({
    uuid: randomUUID(),
    event: 'ordered',
    distinct_id: `person-${at % persons}`,
    properties: {},
  }));
  const path = '/api/projects/@current/events/';
  await until('the events are accepted', wait_ms_max, 200, async () =>
    (await call('POST', path, { events }).catch(() => undefined))?.status === 200
      ? true
      : undefined,
  );
  return events.map(({ uuid, distinct_id }) => ({ id: uuid, person: distinct_id }));
}

/** Waits for all events, and compares their order; returns the number of repeats. */
async function compared(name: string, sent: Kept[], kept: () => Kept[]): Promise<number> {
  const ids = () => new Set(kept().map(({ id }) => id));
  await until(`all events at ${name}`, wait_ms_max, 500, async () =>
    ids().size === sent.length ? true : undefined,
  );
  const order = new Map(sent.map(({ id }, at) => [id, at]));
  const last = new Map<string, number>();
  const seen = new Set<string>();
  for (const { id, person } of kept()) {
    if (seen.has(id)) continue;
    seen.add(id);
    const at = order.get(id) ?? -1;
    if (at < (last.get(person) ?? 0)) throw new Error(`${name} has ${id} of ${person} too late.`);
    last.set(person, at);
  }
  return kept().length - seen.size;
}

/** The events in the topic, in order. */
function keptBy(kafka: Kafka): Kept[] {
  const found = kafka
    .kept(topic)
    .toString('latin1')
    .matchAll(/\{"id":"[^}]*\}/g);
  return [...found].map(([text]) => JSON.parse(text) as Kept);
}

/** The offsets of the record batches in a log; each batch has its length. */
function batchesOf(log: Buffer): bigint[] {
  const offsets: bigint[] = [];
  for (let at = 0; at + 12 <= log.length; at += 12 + log.readInt32BE(at + 8))
    offsets.push(log.readBigInt64BE(at));
  return offsets;
}

/** Opens a receiver that records events in order, as slow as a distant one. */
async function openWebhook() {
  const kept: Kept[] = [];
  const counts = { requests: 0 };
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const events = [(await json(request)) as { messageId: string; userId: string }].flat();
    counts.requests += 1;
    kept.push(...events.map(({ messageId, userId }) => ({ id: messageId, person: userId })));
    await pause(50);
    response.end();
  };
  const server = createServer(
    (request, response) => void take(request, response).catch(() => response.destroy()),
  );
  const { port, close } = await listenLocally(server);
  return { url: `http://127.0.0.1:${port}/`, kept, counts, close };
}
