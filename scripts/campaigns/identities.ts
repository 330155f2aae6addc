// Plays random sequences of identify, alias, forced merges, properties and events into stores of
// its own, by processes that are killed with -9, and compares events, persons and their distinct
// ids at several watermarks with a model in plain code. Prints a line for each project;
// --first-project repeats one. npm run identities [-- --seed 7 --sequences 100000
// --per-project 2500 --kills 3]
import { runIdentities } from '../../test/identities/campaign.ts';
import { anySeed, readOptions } from '../options.ts';

const { seed, sequences, kills, ...options } = readOptions({
  seed: anySeed(),
  sequences: 100_000,
  'per-project': 2_500,
  kills: 3,
  'first-project': 0,
});
console.log(`${sequences} sequences, seed ${seed}`);
const began = performance.now();
const checked = await runIdentities({
  sequences,
  sequences_per_project: options['per-project'],
  kills_per_project: kills,
  seed,
  first_project: options['first-project'],
  say: (line) => console.log(line),
});
const seconds = Math.round((performance.now() - began) / 1000);
console.log(
  `seed ${seed}: the store and its deliveries are as the model in all ${sequences} sequences; ` +
    `${JSON.stringify(checked)}; ${seconds} s`,
);
