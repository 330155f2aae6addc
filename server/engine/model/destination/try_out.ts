import { runSteps } from './timed_steps.ts';
import type { Step } from './timed_steps.ts';
import type { CheckStep, DestinationDeps } from './destination.ts';

/**
 * Runs the steps of a connection test. Logs a fault unchanged and shows it as `explain` phrases it.
 * `refused` is the text for a failure that is no error.
 */
export function tryOut(
  steps: Step[],
  deps: Pick<DestinationDeps, 'log' | 'steps_max'>,
  explain: (error: unknown) => unknown,
  refused: string,
): Promise<CheckStep[]> {
  return runSteps(steps, deps, (error) => {
    deps.log.info({ err: error }, 'connection test failed');
    const explained = explain(error);
    return explained instanceof Error ? explained.message : refused;
  });
}
