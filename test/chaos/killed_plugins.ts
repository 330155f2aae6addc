import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { openPluginTarget, target_fields } from '../factories/plugins/running_plugins.ts';
import { call, until } from '../processes/server_process.ts';

const events_sent = 10_000;
/** Batches before a worker is killed. */
const kills = [4, 9];
const batch_rows = 500;
const project = '/api/projects/@current';
const code = `
  export async function exportEvents(events, { config }) {
    const { status } = await fetch(config.address, {
      method: 'POST',
      body: JSON.stringify(events.map(({ uuid, inserted_at }) => [inserted_at, uuid])),
    });
    if (status !== 200) throw new RetryError('answered ' + status);
  }`;

/**
 * Installs a plugin and sends events to it. Its workers are killed in the middle of a batch, and
 * never learn its outcome. Fails unless all events arrive in their order, and no more than one
 * batch for each kill comes twice. A worker runs; `kill` kills it, `start` starts another.
 */
export async function deliverThroughKills(
  { address, key }: { address: string; key: string },
  workers: { kill(): Promise<void>; start(): Promise<unknown> },
): Promise<void> {
  const target = await openPluginTarget();
  try {
    await install(address, key, target.url);
    const left = [...kills];
    let last: Promise<unknown> = Promise.resolve();
    target.answer = () => {
      if (left.length > 0 && target.taken.length >= left[0]!) {
        left.shift();
        last = last.then(() => workers.kill()).then(() => workers.start());
      }
      return undefined;
    };
    const sent = await send(address, key);
    await until('all events', 60_000, 50, async () =>
      new Set(target.taken.flat().map(([, uuid]) => uuid)).size === sent.length ? true : undefined,
    );
    await last;
    assert.deepEqual(left, [], 'no worker was left to be killed');
    checkArrived(target.taken, sent);
  } finally {
    await target.close();
  }
}

async function ask(
  address: string,
  key: string,
  method: string,
  path: string,
  body: unknown,
): Promise<Record<string, any>> {
  const answer = await call(address, key, method, path, body);
  assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function install(address: string, key: string, target: string): Promise<void> {
  const plugins = '/api/organizations/@current/pipeline_destinations/';
  const created = await ask(address, key, 'POST', plugins, {
    plugin_type: 'source',
    name: 'Counting',
  });
  const source = {
    'plugin.json': JSON.stringify({ name: 'Counting', config: target_fields }),
    'index.ts': code,
  };
  await ask(address, key, 'PATCH', `${plugins}${created['id']}/update_source/`, { source });
  await ask(address, key, 'POST', `${project}/plugin_configs/`, {
    plugin: created['id'],
    enabled: true,
    config: { address: target },
    allowed_hosts: ['127.0.0.1'],
  });
}

/** Sends the events, and returns their uuids. */
async function send(address: string, key: string): Promise<string[]> {
  const sent: string[] = [];
  for (let number = 0; number < events_sent; number += 1_000) {
    const events = Array.from({ length: 1_000 }, () => ({
      uuid: randomUUID(),
      event: 'sent',
      distinct_id: 'somebody',
    }));
    sent.push(...events.map(({ uuid }) => uuid));
    await ask(address, key, 'POST', `${project}/events/`, { events });
  }
  return sent;
}

function checkArrived(taken: [inserted_at: string, uuid: string][][], sent: string[]): void {
  const seen = new Set<string>();
  const first_time = taken
    .flat()
    .filter(([, uuid]) => !seen.has(uuid) && seen.add(uuid) !== undefined);
  assert.deepEqual(new Set(sent), seen);
  const instants = first_time.map(([inserted_at]) => inserted_at);
  assert.deepEqual(instants, instants.toSorted());
  // A repeated batch is whole, and contains no events of an earlier one.
  const again = taken.flat().length - sent.length;
  assert.ok(again <= kills.length * batch_rows, `${again} events came twice`);
  assert.ok(Math.max(...taken.map((batch) => batch.length)) <= batch_rows);
}
