/**
 * Builds what `npm pack` packs into `build/`: the server as JavaScript (Node takes no TypeScript
 * below node_modules), its migrations, the built console and docs, the command, the bill of
 * materials in CycloneDX's form, and the licences of what is inside the console's files. npm runs
 * it itself.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import '../require_node.mjs';
import { root, runNode, runTool } from '../child.ts';
import { commitOf } from '../../server/platform/version.ts';
import { billOfMaterials, consoleLicences, packed_packages } from './bill.ts';
import type { Lock } from './lock_file.ts';

const target = join(root, 'build');

rmSync(target, { recursive: true, force: true });
const write = (text: string) => void process.stdout.write(text);
if (
  !(await runNode(['scripts/package/build_console.ts'], {})) ||
  !(await runNode(['scripts/package/build_site.ts'], {})) ||
  !(await runTool('tsc', ['-p', 'scripts/package/tsconfig.json'], write))
)
  process.exit(1);
if (
  !['console/dist/index.html', 'site/dist/index.html.br'].every((path) =>
    existsSync(join(root, path)),
  )
) {
  console.log('The package needs the console and the docs: install their packages first (npm ci).');
  process.exit(1);
}
// Modules also read these files, which are no modules themselves.
for (const path of globSync('server/**/*.{css,json}', { cwd: root })) copy(path);
for (const path of ['migrations', 'console/dist', 'site/dist']) copy(path);
copy('scripts/package/sluice.mjs', 'bin/sluice.mjs');
// The package needs its own copy, because its users have no checkout.
copy('deploy/sluice.service', 'sluice.service');
chmodSync(join(target, 'bin/sluice.mjs'), 0o755);

for (const name of packed_packages) {
  const folder = `node_modules/${name}`;
  for (const path of ['*.js', 'LICENSE', 'package.json', 'prebuilds/{darwin,linux}-*/*'])
    for (const file of globSync(`${folder}/${path}`, { cwd: root })) copy(file);
}
copy('scripts/node/package.json', 'node/package.json');
writeFileSync(join(target, 'node/package-lock.json'), `${JSON.stringify(nodeLock(), null, 2)}\n`);

const commit = commitOf(join(root, '.git'));
// A package built without git knows only its release.
if (commit !== undefined) writeFileSync(join(target, 'commit'), `${commit}\n`);

const bill = billOfMaterials(commit === undefined ? undefined : timeOf(commit));
writeFileSync(join(target, 'sbom.cdx.json'), `${JSON.stringify(bill, null, 2)}\n`);
writeFileSync(join(target, 'console/LICENCES.txt'), consoleLicences(bill));
console.log(`build/ is written (${bill.components.length} packages in its bill of materials).`);

function timeOf(revision: string): Date {
  const told = ['show', '--no-patch', '--format=%cI', revision];
  return new Date(execFileSync('git', told, { cwd: root, encoding: 'utf8' }).trim());
}

function copy(from: string, to = from): void {
  mkdirSync(dirname(join(target, to)), { recursive: true });
  cpSync(join(root, from), join(target, to), { recursive: true });
}

/** Returns the part of the lock that contains Node, for machines with an older one. */
function nodeLock(): Lock {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
  const own = lock.packages['scripts/node']!;
  const names = Object.keys(own.optionalDependencies!).map((name) => `node_modules/${name}`);
  const packages = names.map((name) => [name, lock.packages[name]!]);
  return { ...lock, packages: { '': own, ...Object.fromEntries(packages) } };
}
