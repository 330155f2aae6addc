import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { inDepth, is_deep } from '../../../../test/depth.ts';
import { openPluginTarget, target_fields } from '../../../../test/factories/running_plugins.ts';
import type { PluginTarget } from '../../../../test/factories/running_plugins.ts';
import {
  call,
  serverEnvironment,
  startServer,
  until,
} from '../../../../test/processes/server_process.ts';
import type { ServerProcess } from '../../../../test/processes/server_process.ts';
import { makeApiKey } from '../../../platform/http/caller/api_key.ts';

const key = makeApiKey();
const events_sent = inDepth(3_000, 10_000);
/** After how many batches a worker is killed. */
const kills = is_deep ? [4, 9] : [3];
const batch_rows = 500;
const project = '/api/projects/@current';

let folder: string;
let target: PluginTarget;
let environment: Record<string, string>;
const processes: ServerProcess[] = [];
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-plugin-'));
  environment = serverEnvironment(folder, key);
  target = await openPluginTarget();
});
after(async () => {
  for (const one of processes.toReversed()) await one.stop();
  await target.close();
  await rm(folder, { recursive: true, force: true });
});

const start = async (command: string): Promise<ServerProcess> => {
  const started = await startServer([command], environment);
  processes.push(started);
  return started;
};
const code = `
  export async function exportEvents(events, { config }) {
    const { status } = await fetch(config.address, {
      method: 'POST',
      body: JSON.stringify(events.map(({ uuid, inserted_at }) => [inserted_at, uuid])),
    });
    if (status !== 200) throw new RetryError('answered ' + status);
  }`;

test(
  'events arrive in their order although the worker is killed: none is lost, and what comes ' +
    'twice is one batch for each kill',
  async () => {
    const { address } = await start('api');
    const ask = async (
      method: string,
      path: string,
      body?: unknown,
    ): Promise<Record<string, any>> => {
      const answer = await call(address, key, method, path, body);
      assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
      return answer.body;
    };
    const made = await ask('POST', '/api/organizations/@current/pipeline_destinations/', {
      plugin_type: 'source',
      name: 'Counting',
    });
    const files = {
      'plugin.json': JSON.stringify({ name: 'Counting', config: target_fields }),
      'index.ts': code,
    };
    await ask(
      'PATCH',
      `/api/organizations/@current/pipeline_destinations/${made['id']}/update_source/`,
      { source: files },
    );
    const settings = {
      plugin: made['id'],
      enabled: true,
      config: { address: target.url },
      allowed_hosts: ['127.0.0.1'],
    };
    await ask('POST', `${project}/plugin_configs/`, settings);
    const sent: string[] = [];
    for (let number = 0; number < events_sent; number += 1_000) {
      const events = Array.from({ length: 1_000 }, () => ({
        uuid: randomUUID(),
        event: 'sent',
        distinct_id: 'somebody',
      }));
      sent.push(...events.map(({ uuid }) => uuid));
      await ask('POST', `${project}/events/`, { events });
    }
    // A request that comes in, and of which the worker never hears how it ended.
    for (const batches of kills) {
      const worker = await start('worker');
      const killed = new Promise<void>((resolve) => {
        target.answer = () => {
          if (target.taken.length >= batches) void worker.kill().then(resolve);
          return undefined;
        };
      });
      await killed;
      target.answer = () => undefined;
    }
    await start('worker');
    await until('all events', 40_000, 50, async () =>
      new Set(target.taken.flat().map(([, uuid]) => uuid)).size === sent.length ? true : undefined,
    );
    const seen = new Set<string>();
    const first_time = target.taken
      .flat()
      .filter(([, uuid]: [string, string]) => !seen.has(uuid) && seen.add(uuid) !== undefined);
    assert.deepEqual(new Set(sent), seen);
    const instants = first_time.map(([inserted_at]: [string, string]) => inserted_at);
    assert.deepEqual(instants, instants.toSorted());
    // Batches that come again are whole, and nothing of an earlier one comes again.
    const [again, batches] = [
      target.taken.flat().length - sent.length,
      target.taken.map((batch) => batch.length),
    ];
    assert.ok(again <= kills.length * batch_rows, `${again} events came twice`);
    assert.ok(Math.max(...batches) <= batch_rows);
  },
);
