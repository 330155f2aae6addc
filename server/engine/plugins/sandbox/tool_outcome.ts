/**
 * The end of one event at one mapping of a tool. `skipped`: the filter of the mapping does not
 * match. `refused`: another attempt ends in the same way. `retry`: another one may succeed, after
 * `retry_after` (as the other side wrote it) at the earliest; `status` is 429 where only the pace
 * was wrong. `denied`: the settings do not let us in. `together` is the number of events that one
 * answer was for.
 */
export type ToolOutcome = Exchanged &
  (
    | { kind: 'sent' | 'skipped' }
    | {
        kind: 'refused' | 'retry' | 'denied';
        status: number | null;
        reason: string;
        retry_after: string | null;
        together?: number;
      }
  );

/**
 * The requests of an outcome. Of several outcomes with the same requests only the first has them,
 * while they pass between processes, and `exchanges_at` is its place for the others.
 */
type Exchanged = { exchanges?: ToolExchange[]; exchanges_at?: number };

/** A body, cut at its bound; `text` is null for one that is no text. */
export type ExchangeBody = { text: string | null; size_bytes: number };

/** A header of a request or an answer. */
export type HeaderField = { name: string; value: string };

/** A request of a tool and the answer to it; `answer` is null without one, and `error` says why. */
export type ToolExchange = {
  request: {
    method: string;
    url: string;
    header_fields: HeaderField[];
    body: ExchangeBody | null;
  };
  answer: { status: number; header_fields: HeaderField[]; body: ExchangeBody } | null;
  error: string | null;
};
