import type { ApiError } from '../../platform/http/errors.ts';
import type { WarningReason } from '../../engine/ingest/warnings/warning.ts';
import type { Mended } from '../../engine/ingest/parse/tolerant_json.ts';

/** A request with events, as plain data, because another thread reads long bodies. */
export type Sent = {
  method: string;
  /** The path as the route declares it, with or without a slash at its end. */
  path: string;
  query: Record<string, string>;
  headers: {
    authorization?: string | undefined;
    write_key?: string | undefined;
    content_type?: string | undefined;
    /** Time of sending, by the sender's clock. */
    sent_at?: string | undefined;
    /** The library of the sender, as `name/version`. */
    sdk_info?: string | undefined;
    /** Identifies the request; the answer repeats it. */
    request_id?: string | undefined;
  };
  /** The sender: a browser or a program, and its address. */
  sender: { user_agent: string | undefined; address: string };
  received_ms: number;
  /**
   * Set when a person resends a refused event: its project is known whatever its key is. An event
   * without an id gets its uuid from the refused event.
   */
  again?: string;
};

/** Largest event at the paths for AI, which contains prompts and answers of models. */
export const ai_event_size_bytes_max = 8 * 1024 * 1024;

/**
 * One event in a protocol's message, not checked yet. `properties` and the person's properties are
 * kept as sent.
 */
export type Draft = {
  name: unknown;
  distinct_id: unknown;
  /** A reason to refuse the event, whatever its content. */
  refused_as?: WarningReason;
  /** Names the person if the message does not; without it such an event is refused. */
  distinct_id_otherwise?: 'uuid' | undefined;
  /** The uuid that the event brings. */
  uuid?: unknown;
  /** The `messageId` of an event without a uuid. */
  message_id?: unknown;
  /** When it happened, by the sender's clock: an instant, or a number of epoch time. */
  at?: unknown;
  /** Age of the event when it was sent, in milliseconds, if `at` is not known. */
  offset_ms?: unknown;
  /** `at` needs no correction for the sender's clock. */
  is_at_right?: boolean;
  /** Largest size in bytes of its row, if the protocol defines one. */
  size_bytes_max?: number | undefined;
  properties: unknown;
  set?: unknown;
  set_once?: unknown;
  unset?: unknown;
  /** The event as in the message. */
  source?: unknown;
  /** The parts that were not valid JSON and were read after a repair. */
  mended?: readonly Mended[];
};

/**
 * The content of a message: its events, created one by one on demand, the keys in its body, and the
 * time of sending by the sender's clock.
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

/** An answer for a client. */
export type Answer = {
  status?: number;
  type?: string;
  headers?: Record<string, string>;
  body: string | Buffer;
};

/** A route that receives events. */
export type Door = {
  paths: readonly string[];
  methods?: readonly ('GET' | 'POST')[];
  summary: string;
  /** Media types of the answer; default JSON. */
  answers?: readonly string[];
  /** Media types of errors that do not have the API's form. */
  refusals?: readonly string[];
};

/** A request of an SDK for something other than sending events. */
export type Asked = {
  /** The write key of the path or query; undefined if the route needs none. */
  key: string | undefined;
  path: string;
  query: Record<string, string>;
  has_bearer: boolean;
  scheme: string;
  /** Address of the server, as the client reaches it. */
  host: string;
};

/**
 * A route for other requests of an SDK. `key`: a write key is required in the path's parameter
 * `:key`, the query or a header.
 */
export type SettingsDoor = {
  paths: readonly string[];
  methods?: readonly ('GET' | 'POST')[];
  summary: string;
  /** The media type of the answer; default JSON. */
  answers?: string;
  key?: boolean;
  /** Requests to this route are accepted and not stored. */
  keeps_nothing?: boolean;
  answer(asked: Asked): Answer;
};

/** One wire protocol: a folder, and an entry in `protocols.ts`. */
export type Protocol = {
  name: string;
  match: readonly Door[];
  /** Returns true for a message of this protocol, if two protocols share a path. */
  recognises?(body: unknown): boolean;
  /** Parses the bytes, if they need not be JSON. Throws an ApiError for invalid bytes. */
  parse?(bytes: Buffer, sent: Sent): unknown;
  /**
   * Returns the events of a message; undefined if it does not have the protocol's form. Throws only
   * an ApiError, for more values than a message may have.
   */
  decode(body: unknown, sent: Sent): Decoded | undefined;
  /**
   * Returns the body of a request with one event alone, which is kept if the event is refused.
   * Without this function, refused events are not kept.
   */
  alone?(source: unknown, sent_at: unknown, sent: Sent): unknown;
  answer(sent: Sent, outcome: Outcome): Answer;
  /** Writes an error in the protocol's own form, if it has one. */
  refuse?(error: ApiError, sent: Sent): Answer | undefined;
  /**
   * Returns false if every event was refused but the answer is no error, because it reports each
   * event. Not where the answer tells each of them.
   */
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
