import type { ApiError } from '../../platform/http/errors.ts';
import type { WarningReason } from '../../engine/ingest/warnings/warning.ts';
import type { Draft } from './draft.ts';

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
  /** Who sent it: a browser or a program, and from where. */
  sender: { user_agent: string | undefined; address: string };
  received_ms: number;
  /**
   * A refused event that is sent again by a person: its project is known whatever its key says, and
   * what has no id of its own is named after the refused event.
   */
  again?: string;
};

/**
 * What a message holds: so many events, created one by one as they are wanted, the keys that it
 * names beside those of the head, and when its sender's clock says that it was sent.
 */
export type Decoded = {
  length: number;
  events: Iterator<Draft>;
  keys: unknown[];
  sent_at?: unknown;
};

/** What became of one event. */
export type Verdict = {
  uuid: string | undefined;
  is_refused: boolean;
  warnings: WarningReason[];
};

/** What became of a request: every event is stored, but those that are refused. */
export type Outcome = { verdicts: Verdict[]; refused: number };

/** What a client is answered. */
export type Answer = {
  status?: number;
  type?: string;
  headers?: Record<string, string>;
  body: string | Buffer;
};

/** Where events come in. */
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
  /** Where the server is reached, with the path under which it is. */
  host: string;
};

/**
 * What an SDK asks for besides. `key` says that a write key must be shown, by the path's parameter
 * `:key`, by the query or the head.
 */
export type SettingsDoor = {
  paths: readonly string[];
  methods?: readonly ('GET' | 'POST')[];
  summary: string;
  /** The media type of the answer; default JSON. */
  answers?: string;
  key?: boolean;
  /** What is sent there is taken and not kept. */
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
  /** How an error is told, where the protocol has a form of its own. */
  refuse?(error: ApiError, sent: Sent): Answer | undefined;
  /** Is it an error that every event was refused? Not where the answer tells each of them. */
  tells_each?(sent: Sent): boolean;
  settings: readonly SettingsDoor[];
};
