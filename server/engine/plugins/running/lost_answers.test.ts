import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { json } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import {
  enabledPlugin,
  logLines,
  sendEvents,
  storedEvents,
} from '../../../../test/factories/plugins/running_plugins.ts';
import {
  openAroundTests,
  harness,
  home,
  run,
  send,
  soon,
} from '../../../../test/factories/plugins/plugin_runs.ts';

openAroundTests();

test('an event whose request gets no answer comes again, and none is passed over', async (t) => {
  const taken: unknown[] = [];
  let cuts = 2;
  const cutting = http.createServer(async (request, response) => {
    const uuid = await json(request);
    // The server takes it, and the way back breaks.
    if ((cuts -= 1) >= 0) return void request.socket.destroy();
    taken.push(uuid);
    response.end();
  });
  cutting.listen(0, '127.0.0.1');
  await once(cutting, 'listening');
  t.after(() => cutting.close());
  const address = `http://127.0.0.1:${(cutting.address() as AddressInfo).port}`;
  const code = `${send} export const onEvent = (event, { config }) => post(config, event.uuid);`;
  const { url } = await enabledPlugin(harness, home, 'pipeline_destinations', code, {
    config: { address },
  });
  await sendEvents(harness, home, 1);
  run();
  await soon('the event', async () => (taken.length > 0 ? taken : undefined));
  assert.deepEqual(
    taken,
    (await storedEvents(harness, home.project.id)).map(({ uuid }) => uuid),
  );
  const lines = (await logLines(harness, home, url)).join('\n');
  assert.match(lines, /WARNING The request failed: \w+\. \(index\.ts:\d+:\d+\) It is tried again/);
  assert.doesNotMatch(lines, /Passed over/);
});
