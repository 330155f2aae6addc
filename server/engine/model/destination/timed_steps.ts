import type { CheckStep, DestinationDeps } from './destination.ts';

/** A named thing to try; gives a sentence about what was found. */
export type Step = { name: string; run: () => Promise<string> };

/**
 * Runs steps in order and times each: as many as `deps` wants. After a failed one the others are
 * skipped. `explain` makes the sentence that the user sees out of an error.
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
