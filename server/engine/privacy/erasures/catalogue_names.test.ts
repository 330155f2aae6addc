import assert from 'node:assert/strict';
import { test } from 'node:test';
import { erasing } from '../../../../test/factories/events/erasures.ts';
import { openHarness } from '../../../../test/harness.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { countEvents } from '../../ingest/catalogue/count_events.ts';

const harness = aroundTests(() => openHarness());
const { ask, send, work } = erasing(() => ({ harness }));

test('an erasure takes names of the event catalogue that name the person', async () => {
  const home = await harness.newOrganization();
  await send(home, [
    { event: 'paid', distinct_id: 'ada@x.org', properties: { total: 1, 'of ada@x.org': 1 } },
    { event: 'paid', distinct_id: 'bob@x.org', properties: { total: 2 } },
    { event: 'mail to ada@x.org', distinct_id: 'ada@x.org', properties: { total: 3 } },
  ]);
  await countEvents(harness.deps, new AbortController().signal, 60_000);
  const names = async () => {
    const [events, properties] = await Promise.all(
      ['', 'properties/'].map((path) => ask(home, 'GET', `event_catalogue/${path}`)),
    );
    const told = [...events!.body.results, ...properties!.body.results];
    return told.map((one) => `${one.event ?? one.property} ${one.events}`).toSorted();
  };
  const before = ['mail to ada@x.org 1', 'of ada@x.org 1', 'paid 2', 'total 3'];
  assert.deepEqual(await names(), before);
  const { body } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['ada@x.org'] });
  await work(home, body.id);
  assert.deepEqual(await names(), ['paid 2', 'total 2']);
});
