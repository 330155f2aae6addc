#!/usr/bin/env node
// What `sluice` runs, once it is installed as a package. Plain JavaScript, so that an older Node can
// read it too. On Node 24 and newer it runs the server in this process; on an older one, the Node 24
// that the package brought along does: from 22.15 on in the same process, before that in a child to
// which signals are handed on.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const wanted = 24;
const main = new URL('../server/main.js', import.meta.url);

if (Number.parseInt(process.versions.node, 10) >= wanted) await import(main.href);
else becomeNewerNode();

function becomeNewerNode() {
  const program = findNode();
  if (program === undefined) {
    console.error(
      `Sluice runs on Node ${wanted}, and this is Node ${process.versions.node}. Install Node ` +
        `${wanted} (https://nodejs.org): no package of it came along for ${process.platform} on ` +
        `${process.arch}.`,
    );
    process.exit(1);
  }
  const given = [fileURLToPath(main), ...process.argv.slice(2)];
  if (process.execve === undefined) return startChild(program, given);
  // That the call is young is no news for whoever types `sluice`.
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
  const require = createRequire(import.meta.url);
  try {
    return require.resolve(`node-${process.platform}-${process.arch}/bin/node`);
  } catch {
    return undefined;
  }
}
