import type { ApiError } from '../../platform/http/errors.ts';
import type { WarningReason } from '../../engine/ingest/warnings/warning.ts';
import type { Mended } from '../../engine/ingest/parse/tolerant_json.ts';

/** A request with events, as plain data: what is long is read in another thread. */
export type Sent = {
  method: string;
  /** The path as a route declares it, with or without the slash at its end. */
  path: string;
  query: Record<string, string>;
  headers: {
    authorization?: string | undefined;
    write_key?: string | undefined;
    content_type?: string | undefined;
    /** When the sender says that it sends. */
    sent_at?: string | undefined;
    /** The library of the sender, as `name/version`. */
    sdk_info?: string | undefined;
    /** Names the request; it is given back. */
    request_id?: string | undefined;
  };
  /** The sender: a browser or a program, and its address. */
  sender: { user_agent: string | undefined; address: string };
  received_ms: number;
  /**
   * A refused event that is sent again by a person: its project is known whatever its key says, and
   * what has no id of its own is named after the refused event.
   */
  again?: string;
};

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

/**
 * The content of a message: its events, created one by one on demand, the keys that it names beside
 * those of the head, and the time of sending by its sender's clock.
 */
export type Decoded = {
  length: number;
  events: Iterator<Draft>;
  keys: unknown[];
  sent_at?: unknown;
};

/** The verdict on one event. */
export type Verdict = {
  uuid: string | undefined;
  is_refused: boolean;
  warnings: WarningReason[];
};

/** The outcome of a request: every event is stored except for the refused ones. */
export type Outcome = { verdicts: Verdict[]; refused: number };

/** The answer to a client. */
export type Answer = {
  status?: number;
  type?: string;
  headers?: Record<string, string>;
  body: string | Buffer;
};

/** A door for events. */
export type Door = {
  paths: readonly string[];
  methods?: readonly ('GET' | 'POST')[];
  summary: string;
  /** Media types of the answer; default JSON. */
  answers?: readonly string[];
  /** Media types of errors, where they have not the form of the API's. */
  refusals?: readonly string[];
};

/** A request for what an SDK wants to know beside sending events. */
export type Asked = {
  /** The write key of the path or query; undefined where the door is open to everybody. */
  key: string | undefined;
  path: string;
  query: Record<string, string>;
  has_bearer: boolean;
  scheme: string;
  /** Address of the server, with the path under which it is reached. */
  host: string;
};

/**
 * A door for other requests of an SDK. `key` says that a write key must be shown, by the path's
 * parameter `:key`, by the query or the head.
 */
export type SettingsDoor = {
  paths: readonly string[];
  methods?: readonly ('GET' | 'POST')[];
  summary: string;
  /** The media type of the answer; default JSON. */
  answers?: string;
  key?: boolean;
  /** Requests to this door are accepted and not stored. */
  keeps_nothing?: boolean;
  answer(asked: Asked): Answer;
};

/** One wire protocol: a folder, and a line in `protocols.ts`. */
export type Protocol = {
  name: string;
  match: readonly Door[];
  /** True for the message's own protocol, where two of them share a path. */
  recognises?(body: unknown): boolean;
  /** Reads the bytes, where they need not be JSON. Throws an ApiError for what it cannot read. */
  parse?(bytes: Buffer, sent: Sent): unknown;
  /**
   * The events of a message; undefined when it has not the protocol's form. Throws an ApiError for
   * more than a message may hold, and nothing else.
   */
  decode(body: unknown, sent: Sent): Decoded | undefined;
  /**
   * The body by which one event of a message would come alone: what is kept of it when it is
   * refused. Without it nothing is kept.
   */
  alone?(source: unknown, sent_at: unknown, sent: Sent): unknown;
  answer(sent: Sent, outcome: Outcome): Answer;
  /** Writes an error in the protocol's own form, if it has one. */
  refuse?(error: ApiError, sent: Sent): Answer | undefined;
  /** Is it an error that every event was refused? Not where the answer tells each of them. */
  tells_each?(sent: Sent): boolean;
  settings: readonly SettingsDoor[];
};

const json_type = 'application/json; charset=utf-8';
const pixel_bytes = Buffer.from(
  'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
  'base64',
);

/** An answer in JSON. */
export function jsonAnswer(value: unknown, headers: Record<string, string> = {}): Answer {
  return { type: json_type, headers, body: JSON.stringify(value) };
}

/** The transparent picture of one pixel that an `img` of a page waits for. */
export function pixelAnswer(): Answer {
  return { type: 'image/gif', body: pixel_bytes };
}
