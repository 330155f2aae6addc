import { randomUUID } from 'node:crypto';
import type { Deployment } from '../../../test/chaos/deployment.ts';
import { until } from '../../../test/processes/server_process.ts';
import type { Receiver } from './receiver.ts';

const wait_ms_max = 600_000;

/**
 * Erases persons, one after another, and kills both workers with -9 when a tool is told to forget
 * one, before it answers. Returns what is wrong: an id that the tool was not told, or an erasure
 * that does not record it.
 */
export async function killWhileTelling(
  deployment: Deployment,
  receiver: Receiver,
  rounds: number,
): Promise<string[]> {
  const ask = async (method: string, path: string, body?: object) => {
    const { status, body: answer } = await deployment.call(method, path, body);
    if (status >= 300) throw new Error(`${path}: ${status} ${JSON.stringify(answer)}`);
    return answer;
  };
  await installForgetting(ask, receiver);
  const { forgetting } = receiver;
  const faults: string[] = [];
  let heard = 0;
  for (let round = 0; round < rounds; round += 1) {
    const distinct_id = `gone-${round}`;
    const events = [{ uuid: randomUUID(), event: 'seen', distinct_id, properties: { number: 0 } }];
    await ask('POST', '/api/projects/@current/events/', { events });
    await came(receiver, distinct_id);
    forgetting.before_deletion = () => {
      forgetting.before_deletion = () => undefined;
      for (const victim of ['worker 1', 'worker 2'] as const) deployment.kill(victim);
    };
    const { id } = await ask('POST', '/api/projects/@current/erasures/', {
      distinct_ids: [distinct_id],
    });
    const states = await until(`the erasure of ${distinct_id}`, wait_ms_max, 500, async () => {
      const path = `/api/projects/@current/erasures/${String(id)}/tools/`;
      const found = await ask('GET', path).catch(() => undefined);
      const list = (found?.['results'] ?? []) as { name: string; state: string }[];
      const told = list.filter(({ name }) => name === 'Xtremepush').map(({ state }) => state);
      return told.length > 0 && !told.includes('waiting') ? told : undefined;
    });
    const times = forgetting.deletions.get(distinct_id) ?? 0;
    heard += times;
    if (states.join() !== 'told' || times === 0)
      faults.push(`${distinct_id}: ${states.join()}, and the tool heard of it ${times} times`);
  }
  console.log(`${rounds} deletions, each with a kill while it was told: heard ${heard} times`);
  return faults;
}

/** Installs Xtremepush, whose address is a setting. */
async function installForgetting(
  ask: (method: string, path: string, body?: object) => Promise<Record<string, unknown>>,
  { url }: Receiver,
): Promise<void> {
  const collection = '/api/organizations/@current/pipeline_destinations/';
  const plugin = await ask('POST', collection, { plugin_type: 'repository', name: 'Xtremepush' });
  const { source } = await ask('GET', `${collection}${String(plugin['id'])}/source/`);
  const { presets } = JSON.parse((source as Record<string, string>)['destination.json']!) as {
    presets: object[];
  };
  await ask('POST', '/api/projects/@current/plugin_configs/', {
    plugin: plugin['id'],
    enabled: true,
    config: { url, apiKey: 'secret', mappings: JSON.stringify(presets) },
    allowed_hosts: ['127.0.0.1'],
  });
}

async function came(receiver: Receiver, distinct_id: string): Promise<void> {
  await until(`an event of ${distinct_id}`, wait_ms_max, 200, async () =>
    receiver.forgetting.remembered.has(distinct_id) ? true : undefined,
  );
}
