// Erases persons among many events that were exported to files, S3, PostgreSQL, MariaDB and
// ClickHouse, with kill -9 of every process in the middle; then deletes the organization. Searches
// the bytes of both stores. Exit code 1: something of them was left, or something else was changed.
// npm run erasures [-- --events 1000000 --persons 100 --erasures 4 --kills 20 --seed 7]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runErasures } from '../../test/chaos/erasures.ts';
import { anySeed, readOptions } from '../options.ts';

const options = readOptions({
  events: 20_000,
  persons: 100,
  erasures: 4,
  kills: 20,
  seed: anySeed(),
});
const folder = mkdtempSync(join(tmpdir(), 'sluice-erasures-'));
const wanted = {
  folder,
  ...options,
  say: (line: string) => console.log(`${Math.round(performance.now() / 1_000)} s: ${line}`),
};
console.log(`${options.events} events, ${options.kills} kills, seed ${options.seed}; in ${folder}`);
const outcome = await runErasures(wanted);
console.log(JSON.stringify(outcome, null, 2));
if (outcome.faults.length === 0) rmSync(folder, { recursive: true, force: true });
process.exitCode = outcome.faults.length === 0 ? 0 : 1;
