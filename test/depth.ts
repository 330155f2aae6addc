import { randomInt } from 'node:crypto';
import process from 'node:process';
import { partOfTurn, turns_max } from '../scripts/check/turn.ts';

/**
 * Returns true if the tests go deep (`npm test -- --deep`): with as many runs, rows and kills as a
 * long campaign. Otherwise each test shows its point once.
 */
export const is_deep = process.env['SLUICE_TEST_DEEP'] === 'true';

/** Returns the amount for a test: `usual`, or `deep` if the tests go deep. */
export function inDepth(usual: number, deep: number): number {
  return is_deep ? deep : usual;
}

/** The number of this run, which `npm test` draws and prints; the variable repeats a run. */
const turn = Number(process.env['SLUICE_TEST_TURN'] ?? randomInt(turns_max));

/**
 * Returns the cases of a table of similar ones for this run: every `turns`th, at least one, and
 * starting with another case in each run. If the tests go deep, a run has all of them.
 */
export function inTurn<One>(cases: readonly One[], turns: number): One[] {
  return is_deep ? [...cases] : partOfTurn(cases, turns, turn);
}

/**
 * Returns the turn of a numbered case in this run, from 0 up to `turns`. It advances once in `runs`
 * runs, so that a case meets each turn of another table in each of its own turns.
 */
export function turnOf(number: number, turns: number, runs = 1): number {
  return (number + Math.floor(turn / runs)) % turns;
}

/** The `skip` of a test that runs only if the tests go deep: false, or the reason. */
export const only_deep = is_deep ? false : 'a campaign: npm test -- --deep';
