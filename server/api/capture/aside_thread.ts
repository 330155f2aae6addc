import { parentPort } from 'node:worker_threads';
import type { PlainEvent } from '../../engine/ingest/event.ts';
import { carried } from '../../engine/ingest/carried.ts';
import { ApiError } from '../../platform/http/errors.ts';
import type { AsideQuestion, AsideReply, CarriedPart } from './aside.ts';
import { openMessage } from './message.ts';
import type { Message } from './message.ts';
import type { Sent } from './protocol.ts';
import type { Read } from './read_draft.ts';
import type { Traffic } from './traffic.ts';

/**
 * The thread that reads long messages. What it gives is small or text: both are cheap to take over
 * for the event loop.
 */
const reads_max = 500;
const reads_bytes_max = 256 * 1024;

/** The messages that were read and not yet given. */
const messages = new Map<number, Message['read'] | Iterator<Read<PlainEvent>>>();
let last_message = 0;

function open(bytes: Uint8Array, sent: Sent): AsideReply {
  try {
    const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const { read, ...about } = openMessage(whole, sent);
    const message = (last_message += 1);
    messages.set(message, read);
    return { kind: 'opened', message, ...about };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, type, violations } = error;
    return { kind: 'refused', status, type, violations };
  }
}

function more(message: number, traffic: Traffic | undefined): AsideReply {
  const known = messages.get(message);
  const given = typeof known === 'function' ? known(traffic) : known;
  if (given !== undefined) messages.set(message, given);
  const reads: CarriedPart[] = [];
  let bytes = 0;
  let is_last = given === undefined;
  while (given !== undefined && reads.length < reads_max && bytes < reads_bytes_max) {
    const { done, value } = given.next();
    if (done === true) {
      is_last = true;
      break;
    }
    reads.push({ ...value, read: carried(value.read) });
    bytes += value.read.event?.bytes ?? 0;
  }
  if (is_last) messages.delete(message);
  return { kind: 'more', reads, is_last };
}

parentPort?.on('message', ({ id, question }: { id: number; question: AsideQuestion }) => {
  if (question.kind === 'drop') return void messages.delete(question.message);
  const reply =
    question.kind === 'open'
      ? open(question.bytes, question.sent)
      : more(question.message, question.traffic);
  parentPort?.postMessage({ id, reply }, []);
});
