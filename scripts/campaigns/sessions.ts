// Plays random histories of sessions (late, out of order, twice, of several people, with clocks
// that go wrong, erased people and retention) into stores of its own, delivers them late and twice
// into a PostgreSQL, and compares every row of the table with a recomputation in plain code. Prints
// a line for each project; --first-project repeats one. npm run sessions [-- --seed 7
// --sessions 100000 --per-project 1000]
import { runSessions } from '../../test/sessions/campaign.ts';
import { anySeed, readOptions } from '../options.ts';

const { seed, sessions, ...options } = readOptions({
  seed: anySeed(),
  sessions: 100_000,
  'per-project': 1_000,
  'first-project': 0,
});
console.log(`${sessions} sessions, seed ${seed}`);
const began = performance.now();
const checked = await runSessions({
  sessions,
  sessions_per_project: options['per-project'],
  seed,
  first_project: options['first-project'],
  say: (line) => console.log(line),
});
const seconds = Math.round((performance.now() - began) / 1000);
console.log(
  `seed ${seed}: the table is as the recomputation in all ${sessions} histories; ` +
    `${JSON.stringify(checked)}; ${seconds} s`,
);
