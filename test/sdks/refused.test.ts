import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWriteKey } from '../../server/platform/http/caller/write_key.ts';
import { aroundTests } from '../around_tests.ts';
import { openHarness } from '../harness.ts';
import { openFaultProxy } from './fault_proxy.ts';
import { node_clients } from './node_clients.ts';

let address: string;
const harness = aroundTests(openHarness, async (opened) => {
  address = await opened.app.listen({ host: '127.0.0.1', port: 0 });
});

/** The refusals that no repeat can mend: of a body, and of a key. */
const refusals = { 400: Buffer.from('{"batch":['), 401: undefined } as const;

/** These repeat whatever fails three times, by themselves. */
const repeating = /^posthog-node [34]$/;

for (const [status, body] of Object.entries(refusals))
  test(`clients end with what is refused with ${status}`, { timeout: 120_000 }, async () => {
    const { project } = await harness.newOrganization();
    const key = status === '401' ? createWriteKey() : project.api_token;
    const proxies = await Promise.all(
      node_clients.map(async (client) => {
        const proxy = await openFaultProxy(address, () => 'none', body);
        // Clients differ in whether they tell their program, but all end.
        await client.send(proxy.address, key).catch(() => undefined);
        return { proxy, name: client.name };
      }),
    );
    for (const { proxy } of proxies) await proxy.close();
    for (const { proxy, name } of proxies) {
      assert.ok(proxy.answered.length > 0, name);
      assert.deepEqual([...new Set(proxy.answered)], [Number(status)], name);
      const repeats = proxy.sent.length - new Set(proxy.sent).size;
      const repeats_max = repeating.test(name) ? 3 : 0;
      assert.ok(repeats <= repeats_max, `${name} repeats ${repeats} requests that are refused.`);
    }
  });
