#!/usr/bin/env node
// What `sluice` runs, once it is installed as a package. Plain JavaScript, so that an older Node can
// read it too. On Node 24 and newer it runs the server in this process. On an older one it lets npm
// fetch a Node 24, once, and that one runs the server: from 22.15 on in the same process, before
// that in a child to which signals are handed on.
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const wanted = 24;
const main = new URL('../server/main.js', import.meta.url);
const own = fileURLToPath(new URL('../node/', import.meta.url));
const node = `node-${process.platform}-${process.arch}`;
const version = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8')).optionalDependencies[
  node
];
// Beside the package if its installer may write there, else in the user's cache.
const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
const places = [own, join(cache, 'sluice', `node-${version}`)];

if (Number.parseInt(process.versions.node, 10) >= wanted) await import(main.href);
else becomeNewerNode();

function becomeNewerNode() {
  const program = findNode() ?? (version === undefined ? undefined : fetchNode());
  if (program === undefined) {
    console.error(
      `Sluice runs on Node ${wanted}, and this is Node ${process.versions.node}. Install Node ` +
        `${wanted} (https://nodejs.org).`,
    );
    process.exit(1);
  }
  const given = [fileURLToPath(main), ...process.argv.slice(2)];
  if (process.execve === undefined) return startChild(program, given);
  // Node's warning about a young function would not help the user of `sluice`.
  process.removeAllListeners('warning');
  process.execve(program, [program, ...given], process.env);
}

function startChild(program, given) {
  const child = spawn(program, given, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'])
    process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function findNode() {
  for (const place of places)
    try {
      return createRequire(join(place, 'package.json')).resolve(`${node}/bin/node`);
    } catch {
      continue;
    }
  return undefined;
}

/** Installs it by npm, checked against the digest in the lock. */
function fetchNode() {
  const place = places.find(mayWrite);
  if (place === undefined) return undefined;
  console.error(
    `Sluice runs on Node ${wanted}, and this is Node ${process.versions.node}. npm fetches Node ` +
      `${version} into ${place}, once (190 MB).`,
  );
  for (const file of ['package.json', 'package-lock.json'])
    if (place !== own) copyFileSync(join(own, file), join(place, file));
  const words = ['ci', '--prefix', place, '--ignore-scripts', '--no-audit', '--loglevel=error'];
  spawnSync('npm', words, { stdio: ['ignore', 2, 2] });
  return findNode();
}

function mayWrite(place) {
  try {
    mkdirSync(place, { recursive: true });
    accessSync(place, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
