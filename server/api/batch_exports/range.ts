import { invalid } from '../../platform/http/errors.ts';

/** Throws 400 for an empty range; the default end is now. */
export function refuseEmptyRange(after_ms: number, before_ms: number): void {
  if (after_ms < before_ms) return;
  const detail = 'The start must be before the end, which is now by default.';
  throw invalid('after', 'invalid_input', detail);
}
