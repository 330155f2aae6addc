import type { CheckStep, DestinationDeps } from './destination.ts';

/** A named check; it returns a sentence about its finding. */
export type Step = { name: string; run: () => Promise<string> };

/**
 * Runs up to `deps.steps_max` steps in order and times each. Skips the remaining steps after a
 * failure. `explain` turns an error into the sentence for the user.
 */
export async function runSteps(
  steps: Step[],
  { steps_max }: Pick<DestinationDeps, 'steps_max'>,
  explain: (error: unknown) => string,
): Promise<CheckStep[]> {
  const results: CheckStep[] = [];
  let hasFailed = false;
  for (const { name, run } of steps.slice(0, steps_max)) {
    if (hasFailed) {
      results.push({ name, status: 'skipped', detail: 'An earlier step failed.', duration_ms: 0 });
      continue;
    }
    const startedAt = performance.now();
    const note = (status: CheckStep['status'], detail: string) =>
      results.push({
        name,
        status,
        detail,
        duration_ms: Math.round(performance.now() - startedAt),
      });
    try {
      note('passed', await run());
    } catch (error) {
      hasFailed = true;
      note('failed', explain(error));
    }
  }
  return results;
}
