import process from 'node:process';

/**
 * Whether the tests go deep (`npm test -- --deep`): with as many runs, rows and kills as a long
 * campaign has. Else each of them shows its point once.
 */
export const is_deep = process.env['SLUICE_TEST_DEEP'] === 'true';

/** How many of something a test takes: `usual` of them, or `deep` where the tests go deep. */
export function inDepth(usual: number, deep: number): number {
  return is_deep ? deep : usual;
}

/** What a test says that runs only where the tests go deep: `true`, or why it is left out here. */
export const only_deep = is_deep ? false : 'a campaign: npm test -- --deep';
