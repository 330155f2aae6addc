/** A named thing to try; gives a sentence about what was found. */
export type Step = { name: string; run(): Promise<string> };

/** How a step ended. */
export type StepResult = {
  name: string;
  status: 'passed' | 'failed' | 'skipped';
  detail: string;
  duration_ms: number;
};

/**
 * Runs steps in order and times each. After a failed one the others are skipped. `explain` makes
 * the sentence that the user sees out of an error.
 */
export async function runSteps(
  steps: Step[],
  explain: (error: unknown) => string,
): Promise<StepResult[]> {
  const results: StepResult[] = [];
  let hasFailed = false;
  for (const step of steps) {
    if (hasFailed) {
      results.push({
        name: step.name,
        status: 'skipped',
        detail: 'An earlier step failed.',
        duration_ms: 0,
      });
      continue;
    }
    const startedAt = performance.now();
    const took = () => Math.round(performance.now() - startedAt);
    try {
      results.push({
        name: step.name,
        status: 'passed',
        detail: await step.run(),
        duration_ms: took(),
      });
    } catch (error) {
      hasFailed = true;
      results.push({
        name: step.name,
        status: 'failed',
        detail: explain(error),
        duration_ms: took(),
      });
    }
  }
  return results;
}
