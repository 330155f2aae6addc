import type { MetricPoint } from '../../../server/api/batch_exports/metrics/schema.ts';
import { reading } from '../../http/reading.ts';
import type { Span } from '../slots/boundaries.ts';
import { isoInstant } from '../slots/slots.ts';
import { pathTo } from '../../http/path.ts';
import type { ExportIds } from '../export_context.ts';

/**
 * Rows, bytes, durations and delays of the runs with data in the range: a backfill appears where
 * its rows belong, not at the time of its request.
 */
export function metricsOf(ids: ExportIds, { from, to }: Span, interval: 'run' | 'hour' | 'day') {
  const by = 'data_interval_start' as const;
  const query = { after: isoInstant(from), before: isoInstant(to), interval, by };
  return reading(pathTo('/api/projects/:project_id/batch_exports/:id/metrics/', ids, query));
}

/** One line or row of bars in a chart: a number or null for each instant. */
export type Series = { label: string; values: (number | null)[] };

/** The data of the charts: the instants in seconds, and the series of each chart. */
export type Charts = {
  at: number[];
  rows: Series[];
  bytes: Series[];
  duration: Series[];
  delay: Series[];
};

/** Returns the points as charts: one instant for all, the kinds side by side. */
export function chartsOf(points: MetricPoint[]): Charts {
  const by_instant = new Map<number, MetricPoint[]>();
  for (const point of points) {
    const at = Date.parse(point.start_at) / 1000;
    by_instant.set(at, [...(by_instant.get(at) ?? []), point]);
  }
  const at = [...by_instant.keys()];
  const columns = [...by_instant.values()];
  const series = (label: string, valueOf: (points: MetricPoint[]) => number | null): Series => ({
    label,
    values: columns.map(valueOf),
  });
  const sumOf = (field: 'rows' | 'bytes', is_scheduled: boolean) => (all: MetricPoint[]) => {
    const own = all.filter(({ kind }) => (kind === 'scheduled') === is_scheduled);
    return own.length === 0 ? null : own.reduce((sum, point) => sum + point[field], 0);
  };
  const longestOf = (field: 'duration_seconds_max' | 'lag_seconds_max') => (all: MetricPoint[]) =>
    all.reduce<number | null>((most, { [field]: value }) => {
      if (value === null) return most;
      return most === null ? value : Math.max(most, value);
    }, null);
  return {
    at,
    rows: [series('schedule', sumOf('rows', true)), series('backfills', sumOf('rows', false))],
    bytes: [series('schedule', sumOf('bytes', true)), series('backfills', sumOf('bytes', false))],
    duration: [series('longest run', longestOf('duration_seconds_max'))],
    delay: [series('longest delay', longestOf('lag_seconds_max'))],
  };
}
