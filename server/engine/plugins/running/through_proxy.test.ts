import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startConnectProxy } from '../../../../test/servers/connect_proxy.ts';
import type { ConnectProxy } from '../../../../test/servers/connect_proxy.ts';
import { systemClock } from '../../../platform/clock.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { postWebhook } from '../../notices/attempt.ts';
import { requestOrigin } from '../packages/origins/origin_request.ts';
import { PluginCallError } from '../sandbox/fault.ts';
import { sendWebhook } from './code/webhook.ts';

const { signal } = new AbortController();
const url = 'https://93.184.216.34/';
let proxy: ConnectProxy;
let outbound: Outbound;

before(async () => {
  proxy = await startConnectProxy();
  const https = `http://user:a-secret-one@127.0.0.1:${proxy.port}`;
  outbound = openOutbound({ allow: [], proxies: { https, without: [], connect_by: 'address' } });
});

after(async () => {
  await outbound.close();
  await proxy.close();
});

test('webhooks and packages go through the proxy, and tell its fault', async () => {
  proxy.instead = 407;
  const told = /^The proxy of this server's outgoing connections refused its user or password/;
  const message = { url, key: Buffer.alloc(32), id: 'msg_1', body: '{}' };
  const posted = await postWebhook({ outbound, clock: systemClock }, message, signal);
  assert.equal(posted.outcome, 'failed');
  assert.match('detail' in posted ? posted.detail : '', told);
  const config = { allowed_hosts: ['93.184.216.34'], needsHost: () => true };
  await assert.rejects(
    sendWebhook(outbound, config, { url }, signal),
    (error) => error instanceof PluginCallError && told.test(error.message) && error.is_retry,
  );
  const request = { origin: 'npm', thing: 'a package', url: new URL(url) };
  await assert.rejects(requestOrigin({ outbound, log: silentLog() }, request, signal), {
    code: 'unreachable',
    message: told,
  });
  assert.deepEqual(
    proxy.asked.map(({ target }) => target),
    ['93.184.216.34:443', '93.184.216.34:443', '93.184.216.34:443'],
  );
});
