import type { Mended } from '../../engine/ingest/parse/tolerant_json.ts';
import type { WarningReason } from '../../engine/ingest/warnings/warning.ts';

/** Largest event at the paths for AI: it holds what a model was told and what it answered. */
export const ai_event_size_bytes_max = 8 * 1024 * 1024;

/**
 * One event as a protocol's message has it: nothing of it is checked yet. `properties` and what is
 * set are kept as they were sent.
 */
export type Draft = {
  name: unknown;
  distinct_id: unknown;
  /** Why it is not taken, whatever else it says. */
  refused_as?: WarningReason;
  /**
   * The fallback name of a person whom the message does not name; without it such an event is
   * refused.
   */
  distinct_id_otherwise?: 'uuid' | undefined;
  /** The event's own uuid. */
  uuid?: unknown;
  /** The name of an event without a uuid: a `messageId`. */
  message_id?: unknown;
  /** When it happened, by the clock of the sender; an instant or a number of epoch time. */
  at?: unknown;
  /** Age of the event when it was sent, in milliseconds, if `at` is not known. */
  offset_ms?: unknown;
  /** `at` is right whatever the clock of the sender says. */
  is_at_right?: boolean;
  /** The largest that it may be, in bytes of its row, where its protocol says that. */
  size_bytes_max?: number | undefined;
  properties: unknown;
  set?: unknown;
  set_once?: unknown;
  unset?: unknown;
  /** The event as the message has it. */
  source?: unknown;
  /** The parts that were not JSON and were read as something else. */
  mended?: readonly Mended[];
};
