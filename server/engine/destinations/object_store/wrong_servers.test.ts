import assert from 'node:assert/strict';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { failureIn } from '../../../../test/factories/batch_exports/deliveries.ts';
import { certificate, certificate_key } from '../../../../test/servers/certificate.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import { findDestination } from '../index.ts';
import { listen } from '../../../../test/servers/loopback.ts';

async function portOf(t: TestContext, server: net.Server): Promise<number> {
  await listen(server);
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

const configs: Record<string, (address: string) => Record<string, unknown>> = {
  S3: (endpoint_url) => ({
    bucket_name: 'loads',
    region: 'us-east-1',
    prefix: 'x',
    aws_access_key_id: 'key',
    aws_secret_access_key: 'secret',
    endpoint_url,
  }),
  AzureBlob: (endpoint_url) => ({
    container_name: 'loads',
    prefix: 'x',
    account_name: 'account',
    account_key: 'c2VjcmV0',
    endpoint_url,
  }),
  HTTP: (url) => ({ url }),
};

test('the answer at a wrong address tells what it is', async (t) => {
  const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
  t.after(() => outbound.close());
  const said = async (type: string, address: string) => {
    const steps = await findDestination(type)!.check(configs[type]!(address), [], {
      log: silentLog(),
      outbound,
      export_dir: '/nowhere',
      signal: new AbortController().signal,
    });
    return failureIn(steps);
  };
  const ssh = await portOf(
    t,
    net.createServer((socket) => void socket.on('error', () => 0).end('SSH-2.0-OpenSSH\r\n')),
  );
  const web = await portOf(
    t,
    http.createServer(
      (request, response) => void request.resume().once('end', () => response.end()),
    ),
  );
  const secure = await portOf(t, https.createServer({ cert: certificate, key: certificate_key }));
  for (const [type, address, expected] of [
    ['S3', `http://127.0.0.1:${ssh}`, /does not speak HTTP; check endpoint_url\.$/],
    ['S3', `https://127.0.0.1:${ssh}`, /no TLS at this port\. Check endpoint_url/],
    [
      'S3',
      `http://127.0.0.1:${web}`,
      /its answer has no name to an upload\. Check endpoint_url\.$/,
    ],
    ['S3', `http://127.0.0.1:${secure}`, /a port with TLS needs https\.$/],
    ['AzureBlob', `http://127.0.0.1:${ssh}`, /does not speak HTTP; check endpoint_url\.$/],
    ['AzureBlob', `https://127.0.0.1:${ssh}`, /no TLS at this port\. Check endpoint_url/],
    ['HTTP', `http://127.0.0.1:${ssh}/in`, /does not speak HTTP; check the key url\.$/],
    ['HTTP', `http://127.0.0.1:${secure}/in`, /a port with TLS needs https\.$/],
  ] as const)
    assert.match(await said(type, address), expected, `${type} ${address}`);
});
