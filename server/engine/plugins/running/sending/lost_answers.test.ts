import assert from 'node:assert/strict';
import http from 'node:http';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import {
  enabledPlugin,
  logLines,
  sendEvents,
  storedEvents,
} from '../../../../../test/factories/plugins/running_plugins.ts';
import {
  openAroundTests,
  harness,
  taken,
  target,
  home,
  run,
  send,
  soon,
} from '../../../../../test/factories/plugins/plugin_runs.ts';
import { listen, urlOf } from '../../../../../test/servers/loopback.ts';

openAroundTests();

test('an event whose request gets no answer comes again, and no event is skipped', async (t) => {
  const arrived: unknown[] = [];
  let cuts = 2;
  const cutting = http.createServer(async (request, response) => {
    const uuid = await json(request);
    // The server takes it, and the way back breaks.
    if ((cuts -= 1) >= 0) return void request.socket.destroy();
    arrived.push(uuid);
    response.end();
  });
  await listen(cutting);
  t.after(() => cutting.close());
  const address = urlOf(cutting);
  const code = `${send} export const onEvent = (event, { config }) => post(config, event.uuid);`;
  const { url } = await enabledPlugin(harness, home, 'pipeline_destinations', code, {
    config: { address },
  });
  await sendEvents(home, 1);
  run();
  await soon('the event', async () => (arrived.length > 0 ? arrived : undefined));
  assert.deepEqual(
    arrived,
    (await storedEvents(harness, home.project.id)).map(({ uuid }) => uuid),
  );
  const lines = (await logLines(home, url)).join('\n');
  assert.match(lines, /WARNING Sluice retries .*: The request failed: \w+\. \(index\.ts:\d+:\d+\)/);
  assert.doesNotMatch(lines, /Set aside/);
});

for (const [method, sent] of [
  ['onEvent', 'await fetch(url, request)'],
  ['composeWebhook', 'return { url, ...request }'],
] as const)
  test(`an unknown host that only an event names stops no plugin: ${method}`, async () => {
    const code = `export async function ${method}({ event }, { config }) {
      const url = event === 'sent' ? config.address : 'http://' + event;
      const request = { method: 'POST', body: JSON.stringify(event) };
      ${sent};
    }`;
    const { url } = await enabledPlugin(harness, home, 'pipeline_destinations', code, {
      config: { address: target.url },
      allowed_hosts: ['127.0.0.1', '*.nowhere.invalid'],
    });
    await sendEvents(home, 1, 'stranger.nowhere.invalid');
    await sendEvents(home, 2);
    run();
    assert.deepEqual(await taken(2), ['sent', 'sent']);
    const lines = await soon('the line of the event', async () => {
      const text = (await logLines(home, url)).join('\n');
      return text.includes('There is no host stranger.nowhere.invalid.') ? text : undefined;
    });
    assert.match(lines, /Set aside the event/);
    assert.doesNotMatch(lines, /Sluice retries/);
  });
