// Sends generated JSON to every destination and compares each value that comes back with what was
// sent, as the contract suite does with fewer: npm run values [-- --count 3000 --seed 7
// --destination mysql]. `count` texts that look like numbers, and as many objects with anything
// that JSON can be. Exit code 1: a value differs.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listTestFiles, openTestStores } from '../check/check_tests.ts';
import { root } from '../child.ts';
import { anySeed, readOptions } from '../options.ts';

const values = readOptions({ count: 3_000, seed: anySeed(), destination: '' });
const files = listTestFiles([
  `engine/destinations/${values.destination}`,
  ...(values.destination === '' ? ['engine/destinations/formats/', 'engine/ingest/'] : []),
]).filter((file) =>
  /testDestination\(|generated values/.test(readFileSync(join(root, file), 'utf8')),
);
console.log(`${values.count} texts like numbers and ${values.count} objects, seed ${values.seed}`);
const stores = await openTestStores();
let failed = 0;
try {
  for (const file of files) {
    const { stdout, status } = spawnSync(
      process.execPath,
      ['--test', '--test-reporter=tap', '--test-name-pattern=generated values', file],
      {
        cwd: root,
        encoding: 'utf8',
        maxBuffer: 64 * 1024 * 1024,
        env: {
          ...process.env,
          ...stores.environment,
          SLUICE_TEST_VALUES_SEED: String(values.seed),
          SLUICE_TEST_VALUES_COUNT: String(values.count),
        },
      },
    );
    for (const [, line] of stdout.matchAll(/^\s*# (.* generated values, .*)$/gm)) console.log(line);
    if (status === 0) continue;
    failed += 1;
    console.log(`${file}\n${stdout}`);
  }
} finally {
  await stores.close();
}
console.log(
  `seed ${values.seed}: ` +
    (failed === 0
      ? 'every value came back as it was sent'
      : `${failed} test files with DIFFERENCES, see above`),
);
process.exitCode = failed === 0 ? 0 : 1;
