/**
 * Makes a release of the commit that is checked out: npm run release -- --key <private key, PEM>.
 * It builds the package twice from clean clones, and writes package, bill of materials, VEX,
 * provenance and signed sums into release/. `--publish` then publishes the package, `--rehearse`
 * does it with a key and a registry of its own on this machine (docs/releasing.md).
 */
import '../require_node.mjs';
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { release } from '../../server/platform/version.ts';
import { root } from '../child.ts';
import { readOptions, refuse } from '../options.ts';
import type { Bill } from './bill.ts';
import { buildTwice, run, sha256Of } from './release/build.ts';
import type { Built } from './release/build.ts';
import { checkByPython, checkRelease } from './release/check.ts';
import { readReleaseKey, releaseKey } from './release/key.ts';
import type { ReleaseKey } from './release/key.ts';
import { envelope, provenance } from './release/provenance.ts';
import { rehearse } from './release/rehearse.ts';
import { unjudged, vexOf } from './release/vex.ts';
import type { Judgement } from './release/vex.ts';

const options = readOptions({ key: '', repository: '', publish: false, rehearse: false });
const known_key = join(root, 'docs/security/release_key.pem');
const target = join(root, 'release');
const commit = run('git', ['rev-parse', 'HEAD']).trim();
const { judgements } = JSON.parse(readFileSync(join(root, 'docs/security/vex.json'), 'utf8')) as {
  judgements: Judgement[];
};

const key = options.rehearse
  ? newKey()
  : readReleaseKey(options.key || refuse('--key is missing.'));
const repository = options.repository || originOf();
requireReleasable();
requireJudged();
const folder = mkdtempSync(join(tmpdir(), 'sluice-builds-'));
try {
  const built = timed('built twice, with equal bytes', () => buildTwice(commit, folder));
  write(built, key);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
checkRelease(target, release);
const file = join(target, `sluice-${release}.tgz`);
if (options.rehearse) {
  await checkByPython(target, release);
  await rehearse(file, release);
} else if (options.publish)
  process.exitCode = spawnSync('npm', ['publish', file], { cwd: root, stdio: 'inherit' }).status!;
else console.log('Look at release/, then publish by --publish.');

/** Refuses what is not committed, not named in the changelog, or not tagged and signed as known. */
function requireReleasable(): void {
  if (run('git', ['status', '--porcelain']) !== '')
    refuse('Commit or remove what the work tree has beside the commit; a release has a commit.');
  const heading = `## [${release}] - `;
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  if (!changelog.includes(heading)) refuse(`CHANGELOG.md has no section "${heading}<date>".`);
  if (options.rehearse) return;
  if (/^## \[Unreleased\]\n+(?!\n|## \[)/m.test(changelog))
    refuse(`CHANGELOG.md has changes under "Unreleased". Move them below "${heading}<date>".`);
  if (!run('git', ['tag', '--points-at', 'HEAD']).split('\n').includes(`v${release}`))
    refuse(`The commit has no tag v${release}.`);
  if (repository.includes('sluice.example'))
    refuse('Name the public address of the repository: --repository https://...');
  if (!existsSync(known_key) || readFileSync(known_key, 'utf8') !== key.public_pem)
    refuse('The key is not the one of docs/security/release_key.pem, which users trust.');
}

/** Refuses a release with a published vulnerability about which we say nothing. */
function requireJudged(): void {
  const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], { encoding: 'utf8' });
  const audit = JSON.parse(stdout) as { message?: string; vulnerabilities?: object };
  if (audit.vulnerabilities === undefined) {
    const problem = `npm audit did not answer: ${audit.message}`;
    if (!options.rehearse) refuse(problem);
    console.log(`${problem} (a release would stop here)`);
    return;
  }
  const silent = unjudged(audit, judgements);
  if (silent.length > 0)
    refuse(`docs/security/vex.json says nothing about ${JSON.stringify(silent)}.`);
}

function write(built: Built, signing: ReleaseKey): void {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target);
  const name = (ending: string) => join(target, `sluice-${release}.${ending}`);
  cpSync(built.file, name('tgz'));
  const bill = run('tar', ['-xzOf', built.file, 'package/build/sbom.cdx.json']);
  writeFileSync(name('cdx.json'), bill);
  const at = new Date(run('git', ['show', '--no-patch', '--format=%cI', commit]).trim());
  writeFileSync(
    name('vex.cdx.json'),
    `${JSON.stringify(vexOf(JSON.parse(bill) as Bill, judgements, at), null, 2)}\n`,
  );
  const files = ['tgz', 'cdx.json', 'vex.cdx.json'].map(name);
  const subjects = files.map((file) => ({ name: basename(file), sha256: sha256Of(file) }));
  const statement = provenance(subjects, {
    repository,
    release,
    commit,
    lock_sha256: sha256Of(join(root, 'package-lock.json')),
    node: process.versions.node,
    npm: run('npm', ['--version']).trim(),
    started: built.started,
    finished: built.finished,
  });
  writeFileSync(name('intoto.jsonl'), `${JSON.stringify(envelope(statement, signing))}\n`);
  const sums = [...files, name('intoto.jsonl')]
    .map((file) => `${sha256Of(file)}  ${basename(file)}\n`)
    .join('');
  writeFileSync(join(target, 'SHA256SUMS'), sums);
  writeFileSync(join(target, 'SHA256SUMS.sig'), signing.sign(Buffer.from(sums)));
  writeFileSync(join(target, 'release_key.pem'), signing.public_pem);
  process.stdout.write(sums);
}

function newKey(): ReleaseKey {
  return releaseKey(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey);
}

/** The public address that the clone has as its origin, or that of an example in a rehearsal. */
function originOf(): string {
  const { stdout } = spawnSync('git', ['remote', 'get-url', 'origin'], { encoding: 'utf8' });
  const origin = stdout.trim().replace(/\.git$/, '');
  return origin.startsWith('https://') ? origin : 'https://sluice.example/sluice';
}

function timed<Result>(name: string, work: () => Result): Result {
  const started = performance.now();
  const result = work();
  console.log(`${name} in ${((performance.now() - started) / 1000).toFixed(0)} s`);
  return result;
}
