// Replaces two API processes and two workers of an older commit by those of this checkout, one
// after another, while requests and events come in and exports run, and compares every row at File,
// S3, Postgres, MariaDB and ClickHouse with the source. Exit code 1: a request failed for good, or
// a row was lost, doubled or changed. npm run rolling -- --from 7c360a74 [--rate 300 --side-by-side
// 30]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { presentCommit } from '../../test/rolling/release.ts';
import { isSeamless, runRolling } from '../../test/rolling/rolling.ts';
import { readOptions, refuse } from '../options.ts';

const { from, rate, ...values } = readOptions({ from: '', rate: 300, 'side-by-side': 30 });
if (from === '') refuse('Say with --from which commit is upgraded.');
const folder = mkdtempSync(join(tmpdir(), 'sluice-rolling-'));
console.log(`From ${from} to ${presentCommit()}, ${rate} requests/s; in ${folder}`);
const outcome = await runRolling({
  folder,
  from,
  per_second: rate,
  side_by_side_seconds: values['side-by-side'],
  say: (line) => console.log(line),
});
console.log(JSON.stringify(outcome, null, 2));
const passed = isSeamless(outcome);
console.log(passed ? 'nothing failed, nothing lost, nothing doubled' : 'FAULTS, see above');
// Keeps the folder with the faults for an inspection.
if (passed) rmSync(folder, { recursive: true, force: true });
process.exitCode = passed ? 0 : 1;
