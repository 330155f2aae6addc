import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { storedEvents, storedPeople } from '../../../test/factories/stored_events.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness } from '../../../test/harness.ts';
import { node_clients } from '../../../test/sdks/node_clients.ts';

let harness: Harness;
let address: string;
before(async () => {
  harness = await openHarness();
  address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
});
after(() => harness.close());

/** How many requests a path has answered with 200. */
async function answered(path: string): Promise<number> {
  const { values } = await harness.deps.metrics.request_seconds.get();
  const counted = values.find(
    ({ metricName, labels }) =>
      metricName?.endsWith('_count') === true && labels.route === path && labels.status === '200',
  );
  return counted?.value ?? 0;
}

for (const { name, path, send, wanted } of node_clients)
  test(`${name}: what the program sent is what is stored`, { timeout: 20_000 }, async () => {
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
