import type { MergeAsk } from '../identities/merge_ask.ts';
import type { GroupFault } from './group_fault.ts';
import type { JsonObject } from './exact_json.ts';

/** An event that was read and found right, ready to be stored. */
export type IncomingEvent = PlainEvent | LongEvent;

/** One with its texts as they are. */
export type PlainEvent = EventFields & {
  /** JSON text of an object, numbers as they were sent. */
  properties: string;
  elements_chain: string;
  written?: undefined;
};

/**
 * A long one: `written` is both texts as the members of its row that they are in JSON, made beside
 * the event loop, which hands the bytes on as they are.
 */
export type LongEvent = EventFields & {
  properties?: undefined;
  elements_chain?: undefined;
  written: Uint8Array<ArrayBuffer>;
};

type EventFields = {
  /** Lower-case text with dashes. */
  uuid: string;
  /** False when the server created the uuid, so that no copy of it can exist. */
  is_uuid_given: boolean;
  event: string;
  distinct_id: string;
  /** As ClickHouse reads it into `DateTime64(6, 'UTC')`. */
  timestamp: string;
  set: JsonObject | undefined;
  set_once: JsonObject | undefined;
  /** Names of properties that the person is to lose. */
  unset: string[] | undefined;
  /** The other id that shall be the same person. */
  merge: MergeAsk | undefined;
  /** Why the event changes no group, or sets nothing there. */
  group_fault: GroupFault | undefined;
  /**
   * The set exceeds the size of a person: it is left out, and the person's properties stay
   * unchanged.
   */
  is_set_too_large: boolean;
  /** The sources of its changes on the way in: ids of rules, and `user_agent`. */
  changed_by?: readonly string[] | undefined;
  /** The difference from a tracking plan that lets it pass, for people. */
  off_plan?: string | undefined;
  /**
   * About how much the event takes as a row, in bytes of UTF-8, without the person's properties.
   */
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

/** An event, or why nothing is stored of it. */
export type ReadEvent<Event extends IncomingEvent = IncomingEvent> =
  | { event: Event; problems?: undefined; is_off_plan?: undefined; dropped_by?: undefined }
  | UnreadEvent;

/** Everything that is wrong with an event, or the rule by which its project drops it. */
export type UnreadEvent = {
  event?: undefined;
  /** Empty for one that a rule drops. */
  problems: EventProblem[];
  /** True if it is refused because it differs from the tracking plan. */
  is_off_plan?: boolean;
  /** The id of the rule. */
  dropped_by?: string;
};
