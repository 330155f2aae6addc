import type { WarningReason } from '../../server/engine/ingest/warnings/warning.ts';

/** The write key of all cases. */
export const case_key = `slp_${'A'.repeat(43)}`;
/** When the requests of all cases come in. */
export const case_now = '2026-11-22T12:00:00.000Z';

/** An event that a case must give; fields that are left out are not compared. */
export type WantedEvent = {
  event: string;
  distinct_id: string;
  uuid?: string;
  /** As the store spells it; `now` is when the request came. */
  timestamp?: string;
  properties?: object;
  set?: object;
  set_once?: object;
  unset?: string[];
  /** The other id, if the event merges it into this person. */
  merge?: { other: string; is_forced: boolean } | undefined;
  warnings?: WarningReason[];
};

/** One request of a client, and its meaning. */
export type ProtocolCase = {
  says: string;
  method?: 'GET' | 'POST';
  path: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  /** Sent as JSON; bytes as they are. */
  body?: unknown;
  wanted: (WantedEvent | { refused: WarningReason })[];
};
