import { Temporal } from 'temporal-polyfill';
import type { SetAsideFilter } from '../../../engine/plugins/running/sending/set_aside.ts';
import type { SetAsideFilterBody } from './schema.ts';

/** Returns the filter of a body; absent fields filter nothing. */
export function filterOf(sent: SetAsideFilterBody): SetAsideFilter {
  return {
    start_at: inUtc(sent.start_at),
    end_at: inUtc(sent.end_at),
    events: sent.events ?? null,
    mapping: sent.mapping ?? null,
    status: sent.status ?? null,
    of_event: sent.event_uuid ?? null,
    reason: sent.reason ?? null,
  };
}

/** Returns the instant in the stores' format. */
function inUtc(text: string | null | undefined): string | null {
  return text === null || text === undefined
    ? null
    : Temporal.Instant.from(text).toString({ fractionalSecondDigits: 6 });
}
