// Backs a server up while events come in and exports run, kills it with -9 while clients ask, loses
// a store or all, restores both or the lost one alone, lets the exports go on, and compares each
// row of each destination. Prints a line for each round. Exit code 1: a row occurs twice, is
// missing, or is lost and was not named.
// npm run drills [-- --rounds 6 --first 0 --seed 7]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runDrills } from '../../test/chaos/drills.ts';
import { anySeed, readOptions } from '../options.ts';

const { rounds, first, seed } = readOptions({ rounds: 6, first: 0, seed: anySeed() });
const folder = mkdtempSync(join(tmpdir(), 'sluice-drills-'));
console.log(`${rounds} rounds from ${first} on, seed ${seed}; in ${folder}`);
const say = (line: string) => console.log(line);
const outcomes = await runDrills({ folder, rounds, first, seed, say });
const faults = outcomes.flatMap((outcome) => outcome.faults);
console.log(`${outcomes.length} rounds, ${faults.length} faults`);
if (faults.length === 0) rmSync(folder, { recursive: true, force: true });
process.exitCode = faults.length === 0 ? 0 : 1;
