import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import {
  hostile_directory,
  writeHostilePackage,
} from '../../../../test/factories/plugins/hostile_tool.ts';
import {
  emptyRecord,
  never,
  platformInMemory,
} from '../../../../test/factories/plugins/plugin_sandbox.ts';
import {
  aimed,
  machine_attempts,
  network_attempts,
} from '../../../../test/factories/plugins/tool_attempts.ts';
import type { ToolAttempt } from '../../../../test/factories/plugins/tool_attempts.ts';
import {
  exhausting_attempts,
  lookalike_hosts,
  sharing_attempts,
} from '../../../../test/factories/plugins/tool_loads.ts';
import { systemClock } from '../../../platform/clock.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import { toolCode } from '../tools/tool.ts';
import { openSandbox } from './sandbox.ts';
import type { LoadedPlugin, PluginInstance } from './sandbox.ts';
import { findToolLibrary } from './tool_library.ts';
import { toolProgram } from './tool_program.ts';

const secret = 'secret-of-another-tenant';

/** Servers of the inside, and all that reached them. */
async function openInside(folder: string) {
  const reached: string[] = [];
  const http = createServer((request, response) => {
    reached.push(`${request.method} ${request.url}`);
    response.end(secret);
  });
  http.on('connection', () => reached.push('a connection'));
  const local = net.createServer(() => reached.push('a local connection'));
  const udp = createSocket('udp4').on('message', () => reached.push('a datagram'));
  const path = join(folder, 'local.sock');
  udp.bind(0, '127.0.0.1');
  await Promise.all([
    listen(http, '127.0.0.1'),
    once(local.listen(path), 'listening'),
    once(udp, 'listening'),
  ]);
  return {
    reached,
    path,
    port: (http.address() as AddressInfo).port,
    udp_port: udp.address().port,
    close: () => {
      for (const server of [http, local, udp]) server.close();
      http.closeAllConnections();
    },
  };
}

async function listen(server: Server, host: string): Promise<void> {
  await once(server.listen(0, host), 'listening');
}

async function openWorld() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-hostile-'));
  const secret_file = join(folder, 'secret.txt');
  writeFileSync(secret_file, secret);
  writeHostilePackage(join(folder, 'tools'));
  const inside = await openInside(folder);
  let asked = 0;
  const outbound = openOutbound({
    allow: ['127.0.0.2'],
    resolve: async (host) => {
      // A name that is pointed elsewhere after it was looked up.
      if (host === 'rebinding.example') asked += 1;
      const isGood = host.endsWith('good.example') || (host === 'rebinding.example' && asked === 1);
      return [{ address: isGood ? '127.0.0.2' : '127.0.0.1', family: 4 }];
    },
  });
  const redirector = createServer((request, response) => {
    const to = new URL(request.url!, 'http://good.example').searchParams.get('to');
    response.writeHead(to === null ? 200 : 302, to === null ? {} : { location: to });
    response.end('outside');
  });
  await listen(redirector, '127.0.0.2');
  const library = findToolLibrary(join(folder, 'tools'))!;
  const sandbox = await openSandbox({
    outbound,
    log: silentLog(),
    clock: systemClock,
    public_url: 'http://127.0.0.1',
    tools_dir: join(folder, 'tools'),
  });
  const load = (organization: string, more: Partial<PluginInstance> = {}) =>
    sandbox.load({
      id: organization,
      code: toolCode(hostile_directory),
      config: {},
      allowed_hosts: [
        '127.0.0.1',
        'localhost',
        '[::1]',
        '[::ffff:7f00:1]',
        '169.254.169.254',
        '*.example',
      ],
      host: platformInMemory(emptyRecord()),
      process: {
        name: organization,
        program: async () => ({
          ...(await toolProgram(library)),
          silence_ms_max: 4_000,
          size_bytes_max: 300_000_000,
        }),
        opens_sockets: true,
      },
      ...more,
    });
  return {
    folder,
    inside,
    secret_file,
    sandbox,
    load,
    outside_port: (redirector.address() as AddressInfo).port,
    close: async () => {
      await sandbox.close();
      await outbound.close();
      inside.close();
      redirector.close();
      redirector.closeAllConnections();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Runs code in the tool; returns what it came to. */
async function run(tool: LoadedPlugin, code: string, settings: object = {}): Promise<string> {
  const event = { type: 'track', properties: { code } };
  const mapping = { partnerAction: 'run', subscribe: 'type = "track"', mapping: {} };
  const outcome = await tool
    .call('send', { event, settings, mapping }, never)
    .catch((error: Error) => ({ reason: `Words: ended: ${error.message}` }));
  const { reason, ...rest } = outcome as { reason?: string };
  return reason?.replace(/^Words: /, '') ?? JSON.stringify(rest);
}

let canary: LoadedPlugin;
const world = aroundTests(openWorld, async (opened) => {
  canary = await opened.load('another organization');
  await run(canary, 'globalThis.kept = settings.key', { key: secret });
});

/** The other organization's process goes on, and the inside has seen nothing. */
async function proveUnharmed(): Promise<void> {
  assert.equal(await run(canary, 'return globalThis.kept;'), `gave ${secret}`);
  assert.deepEqual(world.inside.reached, []);
}

/** Makes the attempts one after the other; tells those that came to something else. */
async function tryAll(tool: LoadedPlugin, attempts: ToolAttempt[]): Promise<void> {
  const { inside, secret_file, outside_port } = world;
  const targets = { ...inside, secret_file, outside_port };
  const faults: string[] = [];
  for (const [name, code, expected] of attempts) {
    const words = await run(tool, aimed(code, targets));
    if (!expected.test(words)) faults.push(`${name}: ${words.slice(0, 300)}`);
  }
  assert.deepEqual(faults, []);
  await tool.close();
  await proveUnharmed();
}

test('A tool reaches no file, no variable, no process and no code of the machine', async () => {
  await tryAll(await world.load('hostile'), machine_attempts);
  assert.equal(existsSync(`${world.secret_file}.db`), false);
});

test('A tool reaches no address of the inside', async () => {
  await tryAll(await world.load('hostile'), network_attempts);
});

test('A tool changes nothing that the tools of other projects share', async () => {
  await tryAll(await world.load('hostile'), sharing_attempts);
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

test('A tool exhausts neither the server nor the other organizations', async () => {
  const limits = { call_milliseconds: 3_000 };
  await tryAll(await world.load('hostile', { limits }), exhausting_attempts);
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

test('Another organization has a process of its own, without settings of the first', async () => {
  const tool = await world.load('hostile');
  const code = 'return String(globalThis.kept) + Object.keys(require.cache).length;';
  assert.match(await run(tool, code), /^gave undefined/);
  await tool.close();
});

test('A tool that has no client of its own opens no connection', async () => {
  const program = async () => toolProgram(findToolLibrary(join(world.folder, 'tools'))!);
  const tool = await world.load('hostile', { process: { name: 'plain', program } });
  const code = `require('net').connect(80, 'good.example').on('error', () => {});
    return await new Promise((resolve) => setTimeout(resolve, 20, 'went on'));`;
  assert.match(await run(tool, code), /Only tools with a client of their own/);
  await tool.close();
});

test('A redirect leads a tool to no address of the inside', async () => {
  const tool = await world.load('hostile');
  const { port } = world.inside;
  const targets_of_redirects = [
    `http://127.0.0.1:${port}/`,
    `http://localhost:${port}/`,
    `http://[::1]:${port}/`,
    'http://169.254.169.254/latest/',
    `http://inside.example:${port}/`,
    'file:///etc/passwd',
    `http://user:secret@127.0.0.1:${port}/`,
  ];
  for (const target of targets_of_redirects) {
    const url = `http://good.example:${world.outside_port}/?to=${encodeURIComponent(target)}`;
    const code = `return String((await fetch(${JSON.stringify(url)})).status);`;
    assert.match(await run(tool, code), /^ended: |^failed/, target);
  }
  const again = `http://rebinding.example:${world.outside_port}/`;
  const twice = `const first = (await fetch('${again}')).status;
    return first + ' ' + await fetch('http://rebinding.example:${port}/').catch(String);`;
  assert.match(await run(tool, twice), /not globally reachable/);
  await tool.close();
  await proveUnharmed();
});

test('A host that only looks like an allowed one is refused', async () => {
  const tool = await world.load('hostile', { allowed_hosts: ['good.example', '*.wide.example'] });
  const refused = /may not reach|cannot be read|includes credentials|Invalid URL|wrong arguments/;
  for (const host of lookalike_hosts) {
    const url = JSON.stringify(`http://${host}:${world.outside_port}/`);
    assert.match(await run(tool, `return String((await fetch(${url})).status);`), refused, host);
    const socket = `require('net').connect(${world.outside_port}, ${JSON.stringify(host)})`;
    const connected = `return await new Promise((resolve, reject) => ${socket}
      .on('connect', () => resolve('reached')).on('error', reject));`;
    assert.match(await run(tool, connected), refused, host);
  }
  const good = `return String((await fetch('http://GOOD.example:${world.outside_port}/')).status);`;
  assert.equal(await run(tool, good), 'gave 200');
  await tool.close();
  await proveUnharmed();
});
