import { isUtf8 } from 'node:buffer';
import { parentPort } from 'node:worker_threads';
import type { AsideReply, AsideRequest } from './aside.ts';
import { carried } from './carried.ts';
import type { CarriedRead } from './carried.ts';
import { holdsTooMuch, readEventList } from './event_list.ts';
import { parseEvent, readEvent } from './parse.ts';

/**
 * The thread that reads long lines and lists of events. What it gives is small or text: both are
 * cheap to take over for the event loop.
 */
const reads_max = 500;
const reads_bytes_max = 256 * 1024;

/** The lists that were read and not yet given. */
const lists = new Map<number, { values: unknown[]; next: number; now: number }>();

function readLine(bytes: Uint8Array, now: number): CarriedRead | undefined {
  if (!isUtf8(bytes))
    return { problems: [{ attr: null, code: 'parse_error', detail: 'This line is not UTF-8.' }] };
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  if (holdsTooMuch(text))
    return {
      problems: [
        {
          attr: null,
          code: 'invalid_input',
          detail: 'This line holds more than two million values.',
        },
      ],
    };
  return text.trim() === '' ? undefined : carried(parseEvent(text, now));
}

function openList(id: number, bytes: Uint8Array, now: number): AsideReply {
  const list = readEventList(bytes);
  if ('fault' in list) return { id, kind: 'list', fault: list.fault };
  lists.set(id, { values: list.values, next: 0, now });
  return { id, kind: 'list', is_list: list.is_list };
}

function more(id: number): AsideReply {
  const list = lists.get(id);
  const reads: CarriedRead[] = [];
  let bytes = 0;
  while (list !== undefined && list.next < list.values.length) {
    const read = carried(readEvent(list.values[list.next], list.now));
    // What was given is not needed any more.
    list.values[list.next] = undefined;
    list.next += 1;
    reads.push(read);
    bytes += read.event?.bytes ?? 0;
    if (reads.length >= reads_max || bytes >= reads_bytes_max) break;
  }
  const is_last = list === undefined || list.next >= list.values.length;
  if (is_last) lists.delete(id);
  return { id, kind: 'more', reads, is_last };
}

function answer(request: AsideRequest): AsideReply | undefined {
  switch (request.kind) {
    case 'line':
      return { id: request.id, kind: 'line', read: readLine(request.bytes, request.now) };
    case 'list':
      return openList(request.id, request.bytes, request.now);
    case 'more':
      return more(request.id);
    case 'drop':
      lists.delete(request.id);
      return undefined;
  }
}

/** What of the answer changes hands instead of being copied. */
function buffersOf(reply: AsideReply): ArrayBuffer[] {
  const reads = reply.kind === 'more' ? reply.reads : reply.kind === 'line' ? [reply.read] : [];
  return reads.flatMap((read) => read?.event?.written?.buffer ?? []);
}

parentPort?.on('message', (request: AsideRequest) => {
  const reply = answer(request);
  if (reply !== undefined) parentPort?.postMessage(reply, buffersOf(reply));
});
