// Plays random histories of groups (calls late, out of order, at one time, twice, with clocks that
// go wrong and fields that name no group, erased people and retention) into stores of its own,
// delivers them late and twice into a PostgreSQL, and compares every row of the table with a
// recomputation in plain code. Prints a line for each project; --first-project repeats one.
// npm run groups [-- --seed 7 --groups 100000 --per-project 1000]
import { checkProject } from '../../test/groups/check.ts';
import { readOptions } from '../options.ts';
import { defaults, playProjects } from './made_of_events/campaign.ts';

const { groups, ...options } = readOptions({ ...defaults, groups: 100_000 });
await playProjects('groups', groups, options, checkProject);
