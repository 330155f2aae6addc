import { reading } from '../../http/reading.ts';
import { pathTo } from '../../http/path.ts';
import type { ExportIds } from '../export_context.ts';
import type { Span } from '../slots/boundaries.ts';
import type { Clock } from '../slots/clocks.ts';
import { isoInstant } from '../slots/slots.ts';

/** The path of an export's verifications. */
export const verifications =
  '/api/projects/:project_id/batch_exports/:batch_export_id/verifications/';

/** Rows stored against rows delivered, by one of the two clocks. */
export function proofOf(ids: ExportIds, span: Span, by: Clock) {
  return reading(
    pathTo('/api/projects/:project_id/batch_exports/:id/proof/', ids, { ...rangeOf(span), by }),
    { polls: false },
  );
}

/** Returns the path of the receipts of a range, a zip file. */
export function receiptsPath(ids: ExportIds, span: Span) {
  return pathTo('/api/projects/:project_id/batch_exports/:id/receipts/', ids, rangeOf(span));
}

const rangeOf = ({ from, to }: Span) => ({
  after: isoInstant(Math.floor(from)),
  before: isoInstant(Math.ceil(to)),
});

/** The path of an export's scheduled findings. */
export const deviations = '/api/projects/:project_id/batch_exports/:batch_export_id/deviations/';

/** Findings of scheduled verification, newest first. */
export function latestDeviations(ids: ExportIds) {
  return reading(pathTo(deviations, ids, { limit: 100 }));
}

/** Returns the path of the statement about a range. */
export function statementPath(ids: ExportIds, span: Span, format: 'json' | 'text') {
  return pathTo('/api/projects/:project_id/batch_exports/:id/statement/', ids, {
    ...rangeOf(span),
    format,
  });
}

/** The latest verifications of an export, newest first. */
export function latestVerifications(ids: ExportIds) {
  return reading(pathTo(verifications, ids, { limit: 20 }), {
    is_busy: ({ results }) => results.some(({ finished_at }) => finished_at === null),
  });
}

/** A page of a verification's findings. */
export function findingsOf(ids: ExportIds, id: string) {
  return reading(pathTo(`${verifications}:id/findings/`, { ...ids, id }, { limit: 200 }));
}
