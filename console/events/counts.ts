import { reading } from '../http/reading.ts';
import { day_ms, hour_ms } from './count_lines.ts';
import type { Range, Span } from './count_lines.ts';
import { pathTo } from '../http/path.ts';

const inSpan = ({ from, to }: Span) => ({
  after: new Date(from).toISOString(),
  before: new Date(to).toISOString(),
});

/** Counts the stored events of the span; reads often while they arrive. */
export function eventCounts(
  project_id: string,
  { interval }: Range,
  span: Span,
  is_lively: boolean,
) {
  const query = { ...inSpan(span), interval };
  return reading(pathTo('/api/projects/:project_id/events/counts/', { project_id }, query), {
    is_busy: () => is_lively,
  });
}

/** Reads the warnings in the hours of the span. */
export function ingestionWarnings(project_id: string, { from, to }: Span, is_lively: boolean) {
  const hours = { from: Math.floor(from / hour_ms) * hour_ms, to };
  const interval = to - from > day_ms ? 'day' : 'hour';
  const query = { ...inSpan(hours), interval, limit: 1000 } as const;
  return reading(pathTo('/api/projects/:project_id/ingestion_warnings/', { project_id }, query), {
    is_busy: () => is_lively,
  });
}
