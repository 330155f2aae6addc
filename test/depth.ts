import process from 'node:process';

/**
 * Tells whether the tests go deep (`npm test -- --deep`): with as many runs, rows and kills as a
 * long campaign. Otherwise each test shows its point once.
 */
export const is_deep = process.env['SLUICE_TEST_DEEP'] === 'true';

/** Returns the amount that a test takes: `usual`, or `deep` if the tests go deep. */
export function inDepth(usual: number, deep: number): number {
  return is_deep ? deep : usual;
}

/** The `skip` of a test that runs only if the tests go deep: false, or the reason. */
export const only_deep = is_deep ? false : 'a campaign: npm test -- --deep';
