import { unavailable } from '../errors.ts';
import type { ApiError } from '../errors.ts';

const wait_seconds = 60;

/** Returns a 503 for a request that failed because the disk of a store is full. */
export function noRoom(): ApiError {
  const detail =
    'The server has no room on its disk. Ask its operator to free some, then send the request ' +
    'again.';
  return unavailable(detail, wait_seconds);
}

/** Returns a 503 for events while the stores' disks are full; `taken` of them are stored. */
export function diskFull(taken: number): ApiError {
  const detail =
    `The server has no room on its disk; ${taken} of the events are stored. Send the request ` +
    'again later: events that carry a uuid are not doubled.';
  return unavailable(detail, wait_seconds);
}
