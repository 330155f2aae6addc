import type { PlainEvent } from '../../../engine/ingest/parse/event.ts';
import { carried } from '../../../engine/ingest/parse/carried.ts';
import { nextPiece } from '../../../engine/ingest/parse/pieces.ts';
import { ApiError } from '../../../platform/http/errors.ts';
import { answerQuestions } from '../../../platform/processes/thread.ts';
import type { AsideQuestion, AsideReply, CarriedPart } from './aside.ts';
import { openMessage } from './message.ts';
import type { Message, SentAgain } from './message.ts';
import type { Sent } from '../protocol.ts';
import type { Read } from './read_draft.ts';
import type { Traffic } from './traffic.ts';
import { UnreadError } from './unpack.ts';

/** Messages that were read but not returned completely. */
const messages = new Map<number, Message['read'] | Iterator<Read<PlainEvent>>>();

function open(message: number, bytes: Uint8Array, sent: Sent): AsideReply {
  try {
    const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const { read, ...about } = openMessage(whole, sent);
    messages.set(message, read);
    return { kind: 'opened', ...about };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, type, violations } = error;
    const body = error instanceof UnreadError ? error.body : {};
    return { kind: 'refused', status, type, violations, body };
  }
}

function more(message: number, traffic: Traffic | SentAgain | undefined): AsideReply {
  const known = messages.get(message);
  if (known === undefined) return { kind: 'gone' };
  const given = typeof known === 'function' ? known(traffic) : known;
  messages.set(message, given);
  const { reads, is_last } = nextPiece(given, ({ read }) => read.event?.bytes ?? 0);
  if (is_last) messages.delete(message);
  const parts: CarriedPart[] = reads.map((one) => ({ ...one, read: carried(one.read) }));
  return { kind: 'more', reads: parts, is_last };
}

function answer(question: AsideQuestion): AsideReply | undefined {
  switch (question.kind) {
    case 'open':
      return open(question.message, question.bytes, question.sent);
    case 'more':
      return more(question.message, question.traffic);
    case 'drop':
      messages.delete(question.message);
      return undefined;
  }
}

/** Returns the buffers of an answer that are moved instead of copied. */
function buffersOf(reply: AsideReply): ArrayBuffer[] {
  if (reply.kind !== 'more') return [];
  return reply.reads.flatMap(({ read }) => read.event?.written?.buffer ?? []);
}

answerQuestions(answer, buffersOf);
