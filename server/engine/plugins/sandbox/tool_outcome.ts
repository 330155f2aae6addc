/**
 * The end of one event at one mapping of a tool. `skipped`: the filter of the mapping does not
 * match. `refused`: another attempt ends in the same way. `retry`: another one may succeed, after
 * `retry_after` (as the other side wrote it) at the earliest; `status` is 429 where only the pace
 * was wrong. `denied`: the settings do not let us in. `together` is the number of events that one
 * answer was for.
 */
export type ToolOutcome =
  | { kind: 'sent' | 'skipped' }
  | {
      kind: 'refused' | 'retry' | 'denied';
      status: number | null;
      reason: string;
      retry_after: string | null;
      together?: number;
    };
