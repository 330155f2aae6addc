import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installPython } from '../../peer.ts';
import { run } from './build.ts';

const packages = [
  'securesystemslib[crypto]==1.6.0',
  'in-toto-attestation==0.9.3',
  'cyclonedx-python-lib[json-validation]==11.12.0',
];

/**
 * Checks the files of a release with foreign software, as docs/releasing.md describes it for users.
 */
export function checkRelease(folder: string, release: string): void {
  run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], folder);
  const raw = join(folder, 'sums.der');
  writeFileSync(raw, Buffer.from(readFileSync(join(folder, 'SHA256SUMS.sig'), 'utf8'), 'base64'));
  const words = ['dgst', '-sha256', '-verify', 'release_key.pem', '-signature', 'sums.der'];
  run('openssl', [...words, 'SHA256SUMS'], folder);
  run('rm', [raw]);
  console.log('the sums are right by sha256sum, their signature by OpenSSL');
  if (spawnSync('cosign', ['version']).error === undefined) checkByCosign(folder, release);
  else console.log('cosign is not installed, so it was not asked');
}

/** Checks provenance and CycloneDX with three Python packages, which it installs in peers/. */
export async function checkByPython(folder: string, release: string): Promise<void> {
  const interpreter = await installPython('release/python', packages);
  const script = join(import.meta.dirname, 'check.py');
  process.stdout.write(run(interpreter, [script, folder, release]));
}

function checkByCosign(folder: string, release: string): void {
  const common = ['--key', 'release_key.pem', '--insecure-ignore-tlog=true'];
  run('cosign', ['verify-blob', ...common, '--signature', 'SHA256SUMS.sig', 'SHA256SUMS'], folder);
  const attested = ['--signature', `sluice-${release}.intoto.jsonl`, '--type', 'slsaprovenance1'];
  run(
    'cosign',
    ['verify-blob-attestation', ...common, ...attested, `sluice-${release}.tgz`],
    folder,
  );
  console.log('sums and provenance are signed, by cosign');
}
