// Runs the tests that Apache Iceberg has for every catalog (iceberg-core, from Maven Central) on
// the catalog of a server of this checkout: npm run iceberg_kit [-- --only testRegisterTable].
// Prints each that fails. Exit code 1: another one fails than docs/iceberg_catalog.md names. Wants
// mvn and java (17 or later).
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHarness } from '../../test/harness.ts';
import { root } from '../child.ts';
import { readOptions } from '../options.ts';

/** Tests that require something that the catalog refuses on purpose, each with the reason. */
const refused: Record<string, string> = {};

const { only } = readOptions({ only: '' });
const missing = ['mvn', 'java'].filter((name) => spawnSync(name, ['-version']).status !== 0);
if (missing.length > 0) {
  console.log(`Skipped: there is no ${missing.join(' and no ')}.`);
  process.exit(0);
}
const folder = mkdtempSync(join(tmpdir(), 'sluice-iceberg-kit-'));
const harness = await openHarness({ clickhouse: false, config: { export_dir: folder } });
try {
  const home = await harness.newOrganization();
  await harness.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = harness.app.server.address() as AddressInfo;
  const kit = join(root, 'test', 'iceberg_kit');
  const built = join(folder, 'target');
  const child = spawn(
    'mvn',
    [
      '--quiet',
      '--batch-mode',
      '-f',
      join(kit, 'pom.xml'),
      `-Dkit.target=${built}`,
      '-Dmaven.test.failure.ignore=true',
      ...(only === '' ? [] : [`-Dtest=SluiceCatalogTest#${only}`]),
      'test',
    ],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        SLUICE_ICEBERG_URI: `http://127.0.0.1:${port}/iceberg`,
        SLUICE_KEY: home.key,
        SLUICE_PROJECT: String(home.project.id),
        SLUICE_LAKE: `file://${folder}/lake/${home.project.id}`,
      },
    },
  );
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`mvn ended with ${String(code)}.`);
  report(join(built, 'surefire-reports'));
} finally {
  await harness.close();
  rmSync(folder, { recursive: true, force: true });
}

/** Prints the failures from the reports of Maven. */
function report(reports: string): void {
  const texts = readdirSync(reports)
    .filter((name) => name.endsWith('.xml'))
    .map((name) => readFileSync(join(reports, name), 'utf8'));
  const cases = texts.flatMap((text) => [
    ...text.matchAll(/<testcase name="([^"]+)"[^>]*?(?:\/>|>([^]*?)<\/testcase>)/g),
  ]);
  const failed = cases.filter(([, , inside]) => /<(?:failure|error)\b/.test(inside ?? ''));
  const skipped = cases.filter(([, , inside]) => (inside ?? '').includes('<skipped'));
  for (const [, name, inside] of failed) {
    const told = /message="(?:&#10;)?([^"]{0,300})/.exec(inside!)?.[1]!.replaceAll('&quot;', '"');
    const reason = refused[name!.replace(/\(.*$/, '')];
    console.log(`${reason === undefined ? 'FAILED' : 'refused'} ${name}: ${reason ?? told}`);
  }
  const wrong = failed.filter(([, name]) => refused[name!.replace(/\(.*$/, '')] === undefined);
  const passed = cases.length - failed.length - skipped.length;
  console.log(
    `${passed} of ${cases.length} tests passed, ${skipped.length} skipped themselves, ` +
      `${failed.length - wrong.length} are refused on purpose, ${wrong.length} failed`,
  );
  process.exitCode = wrong.length === 0 && cases.length > 0 ? 0 : 1;
}
