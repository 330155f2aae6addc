// Plays random sequences of identify, alias, forced merges, properties and events into stores of
// its own, by processes that are killed with -9, and compares events, persons and their distinct
// ids at several watermarks with a model in plain code. Prints a line for each project;
// --first-project repeats one. npm run identities [-- --seed 7 --sequences 100000
// --per-project 2500 --kills 3]
import { parseArgs } from 'node:util';
import { runIdentities } from '../../test/identities/campaign.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    sequences: { type: 'string', default: '100000' },
    'per-project': { type: 'string', default: '2500' },
    kills: { type: 'string', default: '3' },
    'first-project': { type: 'string', default: '0' },
  },
});
const [seed, sequences] = [Number(values.seed), Number(values.sequences)];
console.log(`${sequences} sequences, seed ${seed}`);
const began = performance.now();
const checked = await runIdentities({
  sequences,
  sequences_per_project: Number(values['per-project']),
  kills_per_project: Number(values.kills),
  seed,
  first_project: Number(values['first-project']),
  say: (line) => console.log(line),
});
const seconds = Math.round((performance.now() - began) / 1000);
console.log(
  `seed ${seed}: the store and its deliveries are as the model in all ${sequences} sequences; ` +
    `${JSON.stringify(checked)}; ${seconds} s`,
);
