// Two API processes and four workers on a PostgreSQL with a synchronous standby (the programs of
// Debian's package postgresql): one primary after the other is killed, cut off, frozen for a while
// or started again as it was, and its standby promoted, while events, changes and exports go on.
// Exit code 1: something that was answered is lost or there twice, or a run ended twice.
// npm run failover [-- --kills 20 --seed 7]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isWhole, runFailover } from '../../test/failover/failover.ts';
import { findPostgresPrograms } from '../../test/failover/postgres_server.ts';
import { anySeed, readOptions } from '../options.ts';

const { kills, seed } = readOptions({ kills: 20, seed: anySeed() });
const programs = findPostgresPrograms();
if (programs === undefined) {
  console.log('Skipped: initdb and pg_basebackup are not installed (apt-get install postgresql).');
  process.exit(0);
}
const folder = mkdtempSync(join(tmpdir(), 'sluice-failover-'));
console.log(`${kills} kills, seed ${seed}, ${programs}; in ${folder}`);
const say = (line: string) => console.log(line);
const outcome = await runFailover({ folder, programs, kills, seed, say });
console.log(JSON.stringify(outcome, null, 2));
const passed = isWhole(outcome);
console.log(
  `seed ${seed}: ` + (passed ? 'nothing lost, nothing there twice' : 'DIFFERENCES, see above'),
);
// Keeps the folder with the differences for an inspection.
if (passed) rmSync(folder, { recursive: true, force: true });
process.exitCode = passed ? 0 : 1;
