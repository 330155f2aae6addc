import { reading } from '../http/reading.ts';
import { day_ms, hour_ms } from './count_lines.ts';
import type { Counts, Range, Span, Warnings } from './count_lines.ts';

const pathOf = (project_id: string, rest: string, { from, to }: Span, others: object = {}) => {
  const [after, before] = [from, to].map((at) => new Date(at).toISOString());
  const query = new URLSearchParams({ after: after!, before: before!, ...others });
  return `/api/projects/${encodeURIComponent(project_id)}/${rest}/?${query.toString()}`;
};

/** How many events were stored in the span; looked for often while they come. */
export function eventCounts(
  project_id: string,
  { interval }: Range,
  span: Span,
  is_lively: boolean,
) {
  return reading<Counts>(pathOf(project_id, 'events/counts', span, { interval }), {
    is_busy: () => is_lively,
  });
}

/** What was not taken as it came in the hours of the span. */
export function ingestionWarnings(project_id: string, { from, to }: Span, is_lively: boolean) {
  const hours = { from: Math.floor(from / hour_ms) * hour_ms, to };
  const others = { interval: to - from > day_ms ? 'day' : 'hour', limit: '1000' };
  return reading<Warnings>(pathOf(project_id, 'ingestion_warnings', hours, others), {
    is_busy: () => is_lively,
  });
}
