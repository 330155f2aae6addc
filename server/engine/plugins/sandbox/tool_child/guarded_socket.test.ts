import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';
import { certificate, certificate_key } from '../../../../../test/servers/certificate.ts';
import { listenLocally } from '../../../../../test/servers/loopback.ts';
import { openOutbound } from '../../../../platform/outbound/outbound.ts';
import { openPluginSockets } from '../network/plugin_sockets.ts';
import type { PluginSockets } from '../network/plugin_sockets.ts';

const program = fileURLToPath(
  new URL('../../../../../test/processes/guarded_client.ts', import.meta.url),
);

/** Gives what the client in its process came to, with connections that this process opens. */
async function attempts(sockets: PluginSockets, given: object): Promise<unknown> {
  const child = fork(program, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const found = Promise.withResolvers<unknown>();
  // The client may have ended.
  const answer = (message: object) => child.send(message, () => undefined);
  type Told = { found?: unknown; id: number; name: `socket.${keyof PluginSockets}` };
  child.on('message', (told: Told & { parameters: never[] }) => {
    if (told.found !== undefined) return found.resolve(told.found);
    const call = sockets[told.name.slice('socket.'.length) as keyof PluginSockets];
    const called = async () => Reflect.apply(call, sockets, told.parameters) as unknown;
    called().then(
      (value) => answer({ id: told.id, value }),
      (error: Error) => answer({ id: told.id, error: error.message }),
    );
  });
  child.on('exit', (code) => found.reject(new Error(`The client ended with ${code}.`)));
  child.send(given);
  try {
    return await found.promise;
  } finally {
    child.kill();
    await once(child, 'exit');
  }
}

test('the sockets of a tool go through the server, whatever client opens them', async () => {
  const locally = async (server: net.Server) => listenLocally(server);
  const servers = {
    echo: await locally(net.createServer({ allowHalfOpen: true }, (one) => one.pipe(one))),
    web: await locally(http.createServer(({ url }, answer) => answer.end(`web ${url}`))),
    secure: await locally(
      tls.createServer({ cert: certificate, key: certificate_key }, (one) => one.pipe(one)),
    ),
    mute: await locally(net.createServer(() => undefined)),
  };
  const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
  const over = new AbortController();
  const sockets = openPluginSockets({ outbound, allowed_hosts: ['localhost'] }, over.signal);
  const { echo, web, secure, mute } = servers;
  try {
    const found = await attempts(sockets, {
      echo: echo.port,
      web: web.port,
      secure: secure.port,
      mute: mute.port,
      path: join(tmpdir(), 'no-socket'),
      ca: certificate,
    });
    const { elsewhere, elsewhere_by_tls, ...others } = found as Record<string, string>;
    for (const fault of [elsewhere, elsewhere_by_tls])
      assert.match(fault!, /may not reach elsewhere\.example/);
    assert.deepEqual(others, {
      is_echoed: true,
      counted: [614_400, 614_400],
      states: ['closed', 'closed'],
      over_tls: 'over TLS',
      over_http: '200 web /asked',
      by_path: 'A tool may not use a local socket.',
      by_own_class: 'A tool may not use a local socket.',
      of_a_stranger: 'DEPTH_ZERO_SELF_SIGNED_CERT',
      silence: 'timeout',
    });
  } finally {
    over.abort();
    await outbound.close();
    for (const server of Object.values(servers)) await server.close();
  }
});
