import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../../../test/eventually.ts';
import { storedEvents, storedPeople } from '../../../test/factories/events/stored_events.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness } from '../../../test/harness.ts';
import { shareChromium } from '../../../test/processes/chromium.ts';
import { browser_clients } from '../../../test/sdks/browser_clients.ts';
import { openShop } from '../../../test/sdks/shop.ts';
import type { Shop } from '../../../test/sdks/shop.ts';

const chromium = shareChromium();
const { skip } = chromium;

let harness: Harness;
let address: string;
let shop: Shop;
before(async () => {
  harness = await openHarness();
  address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
  if (skip === false) shop = await openShop(await chromium.open());
});
after(async () => {
  if (skip === false) await shop.close();
  await chromium.close();
  await harness.close();
});

// Most of a visit is the wait until a client sends what it has gathered.
describe('ingestion stores the events of a client’s page', { concurrency: 3 }, () => {
  for (const client of browser_clients)
    test(client.name, { skip, timeout: 60_000 }, async () => {
      const { project } = await harness.newOrganization();
      const { complaints, leave } = await shop.visit(client, address, project.api_token);
      const stored = async () =>
        (await storedEvents(harness.deps, project.id)).map((event) => {
          const { sent } = JSON.parse(event.properties) as { sent?: unknown };
          const who = event.distinct_id === 'ada' ? 'ada' : 'visitor';
          return JSON.stringify([event.event, who, ...(sent === undefined ? [] : [sent])]);
        });
      const wanted = client.wanted.map((one) => JSON.stringify(one)).sort();
      let seen: string[] = [];
      const told = () => `stored: ${seen.join(' ')}; the console: ${complaints.join(' ')}`;
      await eventually('Not all events came.', async () => {
        seen = (await stored()).sort();
        return seen.length >= wanted.length;
      }).catch(() => assert.fail(told()));
      assert.deepEqual(seen, wanted, told());
      // The anonymous visitor and the identified person are the same.
      if (client.wanted.some(([event]) => event === '$identify')) {
        const people = await storedPeople(harness.deps, project.id);
        assert.deepEqual(
          [people.length, people[0]?.length, people[0]?.includes('ada')],
          [1, 2, true],
        );
      }
      await leave();
      assert.deepEqual(complaints, []);
    });
});
