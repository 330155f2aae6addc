import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { storedEvents, storedPeople } from '../../../test/factories/events/stored_events.ts';
import { openHarness } from '../../../test/harness.ts';
import { PostHog } from 'posthog-node';
import { node_clients } from '../../../test/sdks/node_clients.ts';

let address: string;
const harness = aroundTests(openHarness, async (opened) => {
  address = await opened.app.listen({ host: '127.0.0.1', port: 0 });
});

/** Returns how many requests a path has answered with the status. */
async function answered(path: string, status = 200): Promise<number> {
  const { values } = await harness.deps.metrics.request_seconds.get();
  const counted = values.find(
    ({ metricName, labels }) =>
      metricName?.endsWith('_count') === true &&
      labels.route === path &&
      labels.status === String(status),
  );
  return counted?.value ?? 0;
}

for (const { name, path, send, wanted } of node_clients)
  test(`${name}: what the program sent is what is stored`, { timeout: 60_000 }, async () => {
    const { project } = await harness.newOrganization();
    const before_it = await answered(path);
    await send(address, project.api_token);
    assert.ok((await answered(path)) > before_it, `Nothing came to ${path}.`);
    const stored = (await storedEvents(harness.deps, project.id)).map((event) => {
      const { sent } = JSON.parse(event.properties) as { sent?: unknown };
      return [event.event, event.distinct_id, sent] as const;
    });
    const sorted = (events: readonly unknown[]) => events.map((one) => JSON.stringify(one)).sort();
    assert.deepEqual(sorted(stored), sorted(wanted));
    const people = await storedPeople(harness.deps, project.id);
    if (wanted.some(([event]) => event === '$create_alias'))
      assert.deepEqual(people, [['ada', 'visitor']]);
  });

test('a client that gets 413 halves its batches, and all events are stored', async () => {
  const { project } = await harness.newOrganization();
  const client = new PostHog(project.api_token, { host: address, flushAt: 100 });
  const numbers = Array.from({ length: 12 }, (_, number) => number);
  for (const number of numbers) {
    const properties = { number, text: 'x'.repeat(1_900_000) };
    client.capture({ distinctId: 'ada', event: `large ${number}`, properties });
  }
  // By itself it gives up after half a minute.
  await client.shutdown(300_000);
  assert.ok((await answered('/batch/', 413)) > 0);
  // Their names alone: the rest is 23 MB.
  const found = await harness.deps.clickhouse.rows<{ event: string }>({
    query: 'SELECT event FROM events WHERE team_id = {team_id:Int64}',
    query_params: { team_id: project.id },
  });
  const stored = found.map(({ event }) => event);
  assert.deepEqual(stored.sort(), numbers.map((number) => `large ${number}`).sort());
});
