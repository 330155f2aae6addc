import { setImmediate } from 'node:timers/promises';
import { arrived } from '../../../engine/ingest/parse/carried.ts';
import type { CarriedRead } from '../../../engine/ingest/parse/carried.ts';
import { aside_bytes_min, aside_memory_mb_max } from '../../../engine/ingest/parse/aside.ts';
import { eachPiece, nextPiece } from '../../../engine/ingest/parse/pieces.ts';
import type { Piece } from '../../../engine/ingest/parse/pieces.ts';
import { ApiError } from '../../../platform/http/errors.ts';
import type { ErrorType } from '../../../platform/http/error_codes.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import { moduleBeside } from '../../../platform/processes/module_beside.ts';
import { openThread, wholeBuffer } from '../../../platform/processes/thread.ts';
import { isProtobuf } from '../opentelemetry/opentelemetry.ts';
import { openMessage } from './message.ts';
import type { Message, SentAgain } from './message.ts';
import type { Sent } from '../protocol.ts';
import type { Read } from './read_draft.ts';
import type { Traffic } from './traffic.ts';
import { UnreadError } from './unpack.ts';
import type { UnreadBody } from './unpack.ts';

/** A question to the thread: read a message, continue with one, or drop it. */
export type AsideQuestion =
  | { kind: 'open'; message: number; bytes: Uint8Array; sent: Sent }
  | { kind: 'more'; message: number; traffic: Traffic | SentAgain | undefined }
  | { kind: 'drop'; message: number };
/**
 * The thread's answer, or the parts of an error. `gone`: the message was in a thread that has
 * ended.
 */
export type AsideReply =
  | { kind: 'refused'; status: number; type: ErrorType; violations: Violation[]; body: UnreadBody }
  | { kind: 'opened'; protocol: string; key: string; length: number }
  | ({ kind: 'more' } & Piece<CarriedPart>)
  | { kind: 'gone' };

/** A part of a message, as the thread sends it. */
export type CarriedPart = Omit<Read, 'read'> & { read: CarriedRead };

const thread = openThread<AsideQuestion, AsideReply>(
  moduleBeside(import.meta, 'aside_thread'),
  aside_memory_mb_max,
);
/** Two bytes of protobuf can be an event, which takes some twenty bytes of JSON. */
const protobuf_bytes_min = aside_bytes_min / 8;
let last_message = 0;
const nothing = () => {};

/**
 * A message whose events arrive in small groups on demand. `drop` frees events that are no longer
 * needed.
 */
export type OpenedMessage = Omit<Message, 'read'> & {
  read(traffic?: Traffic | SentAgain): AsyncIterable<Read[]>;
  drop(): void;
};

/**
 * Reads a message like `openMessage`. Messages of 64 KiB and more (protobuf: 8 KiB) are read in
 * another thread, which takes over their bytes. Between the events of a short message, which can be
 * many and long, other requests get their turns.
 */
export async function readMessage(bytes: Buffer, sent: Sent): Promise<OpenedMessage> {
  if (bytes.length < (isProtobuf(sent) ? protobuf_bytes_min : aside_bytes_min)) {
    const { read, ...message } = openMessage(bytes, sent);
    const inTurns = (traffic?: Traffic | SentAgain) => {
      const events = read(traffic);
      return eachPiece(async () => {
        const piece = nextPiece(events, ({ read: { event } }) => event?.bytes ?? 0);
        if (!piece.is_last) await setImmediate();
        return piece;
      }, nothing);
    };
    return { ...message, read: inTurns, drop: nothing };
  }
  // Numbered here, so that a thread cannot confuse messages.
  const message = (last_message += 1);
  const reply = await thread.ask({ kind: 'open', message, bytes, sent }, wholeBuffer(bytes));
  if (reply.kind === 'refused') throw refusalOf(reply);
  if (reply.kind !== 'opened') throw new Error('The thread sent an unexpected answer.');
  const { protocol, key, length } = reply;
  const drop = () => thread.tell({ kind: 'drop', message });
  const more = async (traffic: Traffic | SentAgain | undefined) => {
    const piece = await thread.ask({ kind: 'more', message, traffic });
    if (piece.kind !== 'more') throw new Error('The rest of a message was lost with its thread.');
    const reads = piece.reads.map((one) => ({ ...one, read: arrived(one.read) }));
    return { reads, is_last: piece.is_last };
  };
  const read = (traffic?: Traffic | SentAgain) => {
    // Sent only once, because the thread keeps it and rules can be long.
    let untold = traffic;
    return eachPiece(() => {
      const told = untold;
      untold = undefined;
      return more(told);
    }, drop);
  };
  return { protocol, key, length, read, drop };
}

function refusalOf(reply: AsideReply & { kind: 'refused' }): ApiError {
  const { status, type, violations, body } = reply;
  return status === 400
    ? new UnreadError(type, violations, body)
    : new ApiError(status, type, violations);
}
