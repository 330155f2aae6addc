import type { Metrics } from '../../../platform/metrics.ts';
import { destinations } from '../../destinations/index.ts';
import type { RunEnd } from '../../model/run.ts';

const ends: Record<RunEnd['status'], 0> = {
  Completed: 0,
  Failed: 0,
  FailedRetryable: 0,
  Cancelled: 0,
};

/**
 * Initializes the counters that alerts watch with 0. Prometheus sees no growth in a series that
 * begins with 1, and cannot evaluate a missing one.
 */
export function beginCounts(metrics: Metrics): void {
  for (const outcome of ['taken', 'duplicates', 'dropped', 'rejected'])
    metrics.events_taken.inc({ outcome }, 0);
  for (const { type: destination } of destinations) {
    metrics.records_exported.inc({ destination }, 0);
    metrics.values_unfit.inc({ destination }, 0);
    for (const status of Object.keys(ends)) metrics.runs_finished.inc({ status, destination }, 0);
  }
}
