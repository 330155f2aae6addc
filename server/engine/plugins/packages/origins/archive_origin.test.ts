import assert from 'node:assert/strict';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import tls from 'node:tls';
import { packFiles } from '../../../../../test/factories/plugins/plugin_archives.ts';
import {
  openOriginWorld,
  origin_secret as secret,
  rejectsAs as refused,
} from '../../../../../test/factories/plugins/plugin_origins.ts';
import { certificate, certificate_key } from '../../../../../test/servers/certificate.ts';
import { openOutbound } from '../../../../platform/outbound/outbound.ts';
import { openOrigin } from './open_origin.ts';
import { listen } from '../../../../../test/servers/loopback.ts';

const { signal } = new AbortController();
const files = (code: string) => ({ 'plugin.json': '{"name":"Counter"}', 'index.js': code });

test('archives: over https alone, bounded, and told apart by content', async (t) => {
  const world = await openOriginWorld();
  const latest = (url: string) => openOrigin({ url }, world.deps).findLatest(signal);
  const fetched = (url: string, given = world.deps) =>
    openOrigin({ url }, given).fetch(null, signal);
  const trusted = tls.getCACertificates('default');
  let archive: Buffer = packFiles(files('one'));
  const server = https.createServer(
    { cert: certificate, key: certificate_key },
    (request, response) => {
      if (request.url?.startsWith('/to/') === true)
        response.writeHead(302, { location: decodeURIComponent(request.url.slice(4)) }).end();
      else if (request.url === '/huge') response.end(Buffer.alloc(21 * 1024 * 1024));
      else
        response.writeHead(request.url?.includes('?signature=') === true ? 200 : 403).end(archive);
    },
  );
  await listen(server);
  t.after(async () => {
    tls.setDefaultCACertificates(trusted);
    server.closeAllConnections();
    server.close();
    await world.close();
  });
  const base = `https://localhost:${(server.address() as AddressInfo).port}`;
  const url = `${base}/x.zip?signature=${secret}`;
  await refused(fetched(url), 'unreachable', /cannot be reached/);
  tls.setDefaultCACertificates([...trusted, certificate]);
  const first = await fetched(url);
  assert.equal(first.files['index.js'], 'one');
  assert.equal(await latest(url), first.tag);
  archive = packFiles(files('two'));
  assert.notEqual(await latest(url), first.tag);
  await refused(fetched(`${base}/x.zip`), 'refused', /refuses access to the archive/);
  await refused(fetched(`${base}/huge`), 'too_large', /more than 20 MiB/);
  await refused(
    fetched(`${base}/to/${encodeURIComponent('http://127.0.0.1:1/')}`),
    'refused',
    /from https to http/,
  );
  await refused(
    fetched(`${base}/to/${encodeURIComponent('https://[fd00:ec2::254]/')}`),
    'refused',
    /not globally reachable/,
  );
  await refused(
    fetched(url, { ...world.deps, outbound: openOutbound({ allow: [] }) }),
    'refused',
    /SLUICE_OUTBOUND_ALLOW/,
  );
  assert(!world.logged().includes(secret));
});
