import { unavailable } from '../../platform/http/errors.ts';
import type { ApiError } from '../../platform/http/errors.ts';

/**
 * 503: come again. Not 429, which makes browsers lose their events.
 */
export function busyCapture(wait_seconds: number): ApiError {
  const detail = `The server cannot take the events now: send them again in ${wait_seconds} s.`;
  return unavailable(detail, wait_seconds);
}
