// Kills the API and PostgreSQL with -9 at random instants of an apply, and looks whether all of the
// plan is there afterwards or nothing. Prints each kill. Exit code 1: something else was there.
// npm run configuration_kills [-- --kills 100 --seed 7]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runConfigurationKills } from '../../test/chaos/configuration_kills.ts';
import { anySeed, readOptions } from '../options.ts';

const { kills, seed } = readOptions({ kills: 100, seed: anySeed() });
const folder = mkdtempSync(join(tmpdir(), 'sluice-kills-'));
console.log(`${kills} kills, seed ${seed}; in ${folder}`);
const say = (line: string) => console.log(line);
const outcome = await runConfigurationKills({ folder, kills, seed, say });
console.log(JSON.stringify(outcome, null, 2));
if (outcome.faults.length === 0) rmSync(folder, { recursive: true, force: true });
process.exitCode = outcome.faults.length === 0 ? 0 : 1;
