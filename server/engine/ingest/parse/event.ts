import type { MergeAsk } from '../identities/merge_ask.ts';
import type { GroupFault } from './group_fault.ts';
import type { JsonObject } from './exact_json.ts';

/** An event that was read, is valid, and is ready to be stored. */
export type IncomingEvent = PlainEvent | LongEvent;

/** An event with its texts. */
export type PlainEvent = EventFields & {
  /** JSON text of an object, with numbers as they were sent. */
  properties: string;
  elements_chain: string;
  written?: undefined;
};

/**
 * A long event: `written` holds both texts as tab-separated fields, which a thread has encoded. The
 * event loop forwards the bytes.
 */
export type LongEvent = EventFields & {
  properties?: undefined;
  elements_chain?: undefined;
  written: Uint8Array<ArrayBuffer>;
};

type EventFields = {
  /** Lower-case text with dashes. */
  uuid: string;
  /** False if the server created the uuid, so that no copy of it can exist. */
  is_uuid_given: boolean;
  event: string;
  distinct_id: string;
  /** In the form that ClickHouse reads into `DateTime64(6, 'UTC')`. */
  timestamp: string;
  set: JsonObject | undefined;
  set_once: JsonObject | undefined;
  /** Names of properties to remove from the person. */
  unset: string[] | undefined;
  /** The other id to merge into the same person. */
  merge: MergeAsk | undefined;
  /** Why the event changes no group, or sets no property there. */
  group_fault: GroupFault | undefined;
  /**
   * True if the set exceeds the size of a person: it is ignored, and the person's properties stay
   * unchanged.
   */
  is_set_too_large: boolean;
  /** The sources of its changes during ingestion: ids of rules, and `user_agent`. */
  changed_by?: readonly string[] | undefined;
  /** A tolerated difference from the tracking plan, for people. */
  off_plan?: string | undefined;
  /** Approximate size of the event's row, in bytes of UTF-8, without the person's properties. */
  bytes: number;
};

/**
 * A fault of one field of an event; `attr` is its path joined by `__`, or null for the whole event.
 */
export type EventProblem = {
  attr: string | null;
  code: 'required' | 'null' | 'blank' | 'max_length' | 'invalid_input' | 'parse_error';
  detail: string;
};

/** An event, or the reason why it is not stored. */
export type ReadEvent<Event extends IncomingEvent = IncomingEvent> =
  | { event: Event; problems?: undefined; is_off_plan?: undefined; dropped_by?: undefined }
  | UnreadEvent;

/** All faults of an event, or the rule by which its project drops it. */
export type UnreadEvent = {
  event?: undefined;
  /** Empty if a rule drops it. */
  problems: EventProblem[];
  /** True if it is refused because it differs from the tracking plan. */
  is_off_plan?: boolean;
  /** The id of the rule. */
  dropped_by?: string;
};
