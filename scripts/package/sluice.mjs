#!/usr/bin/env node
// What `sluice` runs, once it is installed as a package. Plain JavaScript, so that an older Node can
// read it too. On Node 24 and newer it runs the server in this process; on Node 22 it becomes the
// Node 24 that the package brought along (the same process by its id, so signals and exit codes are
// its own).
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const wanted = 24;
const main = new URL('../server/main.js', import.meta.url);

if (Number.parseInt(process.versions.node, 10) >= wanted) await import(main.href);
else becomeNewerNode();

function becomeNewerNode() {
  const program = findNode();
  if (program === undefined || process.execve === undefined) {
    console.error(
      `Sluice runs on Node ${wanted}, and this is Node ${process.versions.node}. Install Node ` +
        `${wanted} (https://nodejs.org)` +
        (program === undefined
          ? `; there is no package of it for ${process.platform} on ${process.arch}.`
          : ', or at least Node 22.15, which can start the one that came with this package.'),
    );
    process.exit(1);
  }
  // That the call is young is no news for whoever types `sluice`.
  process.removeAllListeners('warning');
  process.execve(program, [program, fileURLToPath(main), ...process.argv.slice(2)], process.env);
}

function findNode() {
  const require = createRequire(import.meta.url);
  try {
    return require.resolve(`node-${process.platform}-${process.arch}/bin/node`);
  } catch {
    return undefined;
  }
}
