/**
 * One event as a protocol's message has it: nothing of it is checked yet. `properties` and what is
 * set are kept as they were sent.
 */
export type Draft = {
  name: unknown;
  distinct_id: unknown;
  /** What to call somebody whom the message does not name; without it such an event is refused. */
  distinct_id_otherwise?: 'uuid' | undefined;
  /** The event's own uuid. */
  uuid?: unknown;
  /** What names the event where there is no uuid: a `messageId`. */
  message_id?: unknown;
  /** When it happened, by the clock of the sender; an instant or a number of epoch time. */
  at?: unknown;
  /** How many milliseconds before it was sent, where `at` is not known. */
  offset_ms?: unknown;
  /** `at` is right whatever the clock of the sender says. */
  is_at_right?: boolean;
  properties: unknown;
  set?: unknown;
  set_once?: unknown;
  unset?: unknown;
};

/** What was not taken as it came, and why. The list is closed: docs/sdks.md explains each. */
export const warning_reasons = [
  'clock_skew_mended',
  'distinct_id_cut',
  'distinct_id_made',
  'distinct_id_missing',
  'event_name_cut',
  'event_name_missing',
  'event_refused',
  'event_too_large',
  'null_characters_replaced',
  'properties_ignored',
  'set_ignored',
  'timestamp_clamped',
  'timestamp_ignored',
  'uuid_replaced',
] as const;

/** One reason of the closed list. */
export type WarningReason = (typeof warning_reasons)[number];
