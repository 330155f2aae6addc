import type { WarningReason } from '../../server/engine/ingest/warnings/warning.ts';

/** The write key of all cases. */
export const case_key = `slp_${'A'.repeat(43)}`;
/** The time at which the requests of all cases arrive. */
export const case_now = '2026-11-22T12:00:00.000Z';

/** The expected event of a case; absent fields are not compared. */
export type WantedEvent = {
  event: string;
  distinct_id: string;
  uuid?: string;
  /** In the store's spelling; `now` is the time of the request. */
  timestamp?: string;
  properties?: object;
  set?: object;
  set_once?: object;
  unset?: string[];
  /** The other id, if the event merges it into this person. */
  merge?: { other: string; is_forced: boolean } | undefined;
  warnings?: WarningReason[];
};

/** A client's request, and its meaning. */
export type ProtocolCase = {
  says: string;
  method?: 'GET' | 'POST';
  path: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  /** Sent as JSON; bytes are sent unchanged. */
  body?: unknown;
  wanted: (WantedEvent | { refused: WarningReason })[];
};
