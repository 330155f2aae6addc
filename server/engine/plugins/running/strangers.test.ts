import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import {
  enabledPlugin,
  logLines,
  sendEvents,
  storedEvents,
  target_fields,
} from '../../../../test/factories/plugins/running_plugins.ts';
import {
  harness,
  home,
  openAroundTests,
  run,
  soon,
  target,
} from '../../../../test/factories/plugins/plugin_runs.ts';
import { countProcessorTime } from '../../../../test/processor_time.ts';
import { sourcesOf } from './capture.ts';

// Shapes that plugins written for other servers have, each as a small package that loads and
// delivers.

openAroundTests();

/**
 * Enables the package, sends what is to be sent, and gives what has arrived once that is so much.
 */
async function delivered(
  code: string,
  count: number,
  options: Parameters<typeof enabledPlugin>[4] = {},
  send: () => Promise<void> = () => sendEvents(home, count),
): Promise<{ taken: any[]; url: string }> {
  const settings = { config: { address: target.url }, ...options };
  const { url } = await enabledPlugin(harness, home, 'pipeline_destinations', code, settings);
  await send();
  run();
  await soon(`${count} requests`, async () => (target.taken.length >= count ? true : undefined));
  return { taken: target.taken, url };
}

const post = `fetch(config.address, { method: 'POST', body: JSON.stringify(body) })`;

test('numbers are keys of storage and cache, as texts', async () => {
  const code = `
    export async function onEvent(event, { storage, cache, config }) {
      await storage.set(17, 'kept');
      await cache.set(4.5, 'for a while');
      await cache.incr(9);
      await cache.lpush(8n, 'a');
      const body = [await storage.get('17'), await storage.get(17), await cache.get('4.5')];
      body.push(await cache.incr('9'), await cache.llen(8));
      await storage.del(17);
      body.push(await storage.get(17, 'gone'));
      await ${post};
    }`;
  const { taken } = await delivered(code, 1);
  assert.deepEqual(taken, [['kept', 'kept', 'for a while', 2, 1, 'gone']]);
});

test('capture takes a number as distinct_id, and no zone in a timestamp as UTC', async () => {
  const timestamps = [
    '2026-01-02',
    '2026-01-02 03:04:05',
    '2026-01-02T03:04',
    '2026-01-02T03:04:05.123456',
    '2026-01-02T03:04:05+01:00',
  ];
  const code = `
    export async function onEvent(event, { config }) {
      if (event.event !== 'sent') return;
      for (const timestamp of ${JSON.stringify(timestamps)})
        await posthog.capture('noted', { distinct_id: 4711, timestamp, as: timestamp });
      const body = 'done';
      await ${post};
    }`;
  await delivered(code, 1);
  const noted = (await storedEvents(harness, home.project.id)).filter(
    ({ event }) => event === 'noted',
  );
  assert.deepEqual(
    noted
      .map(({ distinct_id, timestamp, properties }) => [
        JSON.parse(properties).as,
        distinct_id,
        timestamp,
      ])
      .sort(),
    [
      [timestamps[0], '4711', '2026-01-02T00:00:00.000000Z'],
      [timestamps[1], '4711', '2026-01-02T03:04:05.000000Z'],
      [timestamps[2], '4711', '2026-01-02T03:04:00.000000Z'],
      [timestamps[4], '4711', '2026-01-02T02:04:05.000000Z'],
      [timestamps[3], '4711', '2026-01-02T03:04:05.123456Z'],
    ].sort(),
  );
});

test('plugins that answer each event, and each other, come to an end and say so', async () => {
  const code = `
    export async function onEvent(event, { config }) {
      await posthog.capture('echo', { of: event.event });
      const body = event.uuid;
      await ${post};
    }`;
  const settings = { config: { address: target.url } };
  const other = await enabledPlugin(harness, home, 'pipeline_destinations', code, settings);
  // Each has the event, its own echo, the other's, and the echo of each to the other's.
  const { url, taken } = await delivered(code, 10, {}, () => sendEvents(home, 1));
  const stored = await storedEvents(harness, home.project.id);
  assert.equal(stored.length, 5);
  assert.equal(new Set(taken).size, 5);
  const told = /^WARNING The event "echo" is not captured: .* an endless loop/;
  for (const one of [url, other.url])
    await soon(
      'the line',
      async () => (await logLines(home, one)).some((line) => told.test(line)) || undefined,
    );
});

test('a batch with events that answer none answers none', () => {
  const events = [[3, 5], [5], undefined].map((ids) => ({
    properties: ids === undefined ? {} : { $plugin_configs: ids },
  }));
  assert.deepEqual(sourcesOf(events.slice(0, 2)), [5]);
  assert.deepEqual(sourcesOf(events), []);
  assert.deepEqual(sourcesOf([{ properties: { $plugin_configs: ['x', 4] } }]), [4]);
  assert.deepEqual(sourcesOf([{ properties: { $plugin_configs: 'x' } }]), []);
  const ids = Array.from({ length: 1_000 }, (_unused, id) => id);
  const many = Array.from({ length: 2_000 }, () => ({ properties: { $plugin_configs: ids } }));
  const worked_ms = countProcessorTime();
  assert.equal(sourcesOf(many).length, 100);
  assert.ok(worked_ms() < 500);
});

test('metrics count over all calls, and the config lists them', async () => {
  const code = `
    export const metrics = { sent: 'sum', largest: 'max', smallest: 'MIN', unused: 'sum' };
    export async function onEvent(event, { metrics, config }) {
      metrics.sent.increment(2);
      metrics.largest.max(event.properties.number);
      metrics.smallest.min(event.properties.number);
      metrics.smallest.min('no number');
      const body = event.uuid;
      await ${post};
    }`;
  const { url } = await delivered(code, 25);
  const found = await soon('the metrics', async () => {
    const { body } = await harness.request('GET', `${url}metrics/`, { key: home.key });
    return body.results.some(({ value }: { value: number }) => value === 50)
      ? body.results
      : undefined;
  });
  assert.deepEqual(
    found.map(({ updated_at: _at, ...rest }: { updated_at: string }) => rest),
    [
      { name: 'largest', operation: 'max', value: 24 },
      { name: 'sent', operation: 'sum', value: 50 },
      { name: 'smallest', operation: 'min', value: 0 },
    ],
  );
});

test('posthog.api asks with the key that it is given, over the guarded fetch', async () => {
  const asked: string[] = [];
  target.answer = (_body, path) => {
    asked.push(path);
    return undefined;
  };
  const code = `
    export async function onEvent(event, { config }) {
      const options = { host: config.address + '/', personalApiKey: 'key', data: { a: 1 } };
      const seen = [
        (await posthog.api.get('/api/event/', options)).status,
        (await posthog.api.post('api/annotation/', { ...options, projectApiKey: 'slp' })).status,
      ];
      for (const wrong of [
        () => posthog.api.get('/x'),
        () => posthog.api.get('/x', { host: 'http://127.0.0.2', personalApiKey: 'k' }),
      ])
        try { await wrong(); } catch (error) { seen.push(error.message); }
      const body = seen;
      await ${post};
    }`;
  const { taken } = await delivered(code, 3, {}, () => sendEvents(home, 1));
  assert.deepEqual(asked, ['/api/event/?a=1', '/api/annotation/?token=slp', '/']);
  assert.deepEqual(taken.slice(0, 2), [null, { a: 1 }]);
  assert.deepEqual(taken[2].slice(0, 2), [200, 200]);
  assert.match(taken[2][2], /Pass personalApiKey/);
  assert.match(taken[2][3], /may not reach 127\.0\.0\.2/);
});

test('TypeScript in a .js file', async () => {
  const code = `
    type Event = { uuid: string };
    interface Meta { config: { address: string } }
    const onEvent = async (event: Event, { config }: Meta): Promise<void> => {
      const body: unknown = event!.uuid as string;
      await ${post};
    };
    export { onEvent };`;
  const { taken } = await delivered(code, 2, { file: 'index.js' });
  assert.equal(taken.length, 2);
});

test('functions at the top level, with no exports', async () => {
  const code = `
    const jobs = { later: async (body, { config }) => { await ${post}; } };
    async function onEvent(event, meta) { await meta.jobs.later(event.event).runNow(); }
    function processEvent(event) { return { ...event, event: event.event + '!' }; }`;
  const { taken } = await delivered(code, 2, { file: 'index.js' });
  assert.deepEqual(taken, ['sent!', 'sent!']);
});

test('event.elements is read of elements_chain', async () => {
  const chain =
    'a.link.md:flex:href="/x;y"text="say \\"hi\\""nth-child="2"attr__id="go";div#:nth-of-type="1"';
  const code = `
    export const processEvent = (event) => ({ ...event });
    export async function onEvent(event, { config }) {
      const body = { elements: event.elements, json: Object.keys(event).includes('elements') };
      await ${post};
    }`;
  const send = async (): Promise<void> => {
    const event = {
      uuid: randomUUID(),
      event: '$autocapture',
      distinct_id: 'ada',
      properties: { $elements_chain: chain },
    };
    const path = `/api/projects/${home.project.id}/events/`;
    const answer = await harness.request('POST', path, {
      key: home.key,
      body: { events: [event] },
    });
    assert.equal(answer.status, 200, answer.text);
  };
  const { taken } = await delivered(code, 1, {}, send);
  assert.deepEqual(taken[0].json, false);
  assert.deepEqual(taken[0].elements, [
    {
      tag_name: 'a',
      attr_class: ['link', 'md:flex'],
      href: '/x;y',
      text: 'say "hi"',
      nth_child: 2,
      order: 0,
      attributes: { attr__id: 'go' },
    },
    { tag_name: 'div#', nth_of_type: 1, order: 1, attributes: {} },
  ]);
});

test('a number as the default of a text is a text', async () => {
  const fields = [
    ...target_fields,
    { key: 'size', type: 'string', default: 10 },
    { key: 'deep', type: 'json', default: { a: [1] } },
    { key: 'other', type: 'string', required_if: [['size', 11]] },
  ];
  const code =
    'export async function onEvent(event, { config }) { const body = [config.size, ' +
    `config.deep]; await ${post}; }`;
  const { taken } = await delivered(code, 1, { fields });
  assert.deepEqual(taken, [['10', '{"a":[1]}']]);
});

test('the plugin’s log lines are there while the batch is in progress', async () => {
  const code = `
    export async function onEvent(event, { config }) {
      console.log('before the answer');
      const body = event.uuid;
      await ${post};
    }`;
  const held = Promise.withResolvers<void>();
  target.before_answer = () => held.promise;
  const { url } = await enabledPlugin(harness, home, 'pipeline_destinations', code, {
    config: { address: target.url },
  });
  await sendEvents(home, 1);
  run();
  await soon('the line', async () =>
    (await logLines(home, url)).includes('INFO before the answer') ? true : undefined,
  );
  assert.deepEqual(target.taken, []);
  held.resolve();
  await soon('the event', async () => (target.taken.length === 1 ? true : undefined));
});
