// Plays random histories of sessions (late, out of order, twice, of several people, with clocks
// that go wrong, erased people and retention) into stores of its own, delivers them late and twice
// into a PostgreSQL, and compares every row of the table with a recomputation in plain code. Prints
// a line for each project; --first-project repeats one. npm run sessions [-- --seed 7
// --sessions 100000 --per-project 1000]
import { checkProject } from '../../test/sessions/check.ts';
import { readOptions } from '../options.ts';
import { defaults, playProjects } from './made_of_events/campaign.ts';

const { sessions, ...options } = readOptions({ ...defaults, sessions: 100_000 });
await playProjects('sessions', sessions, options, checkProject);
