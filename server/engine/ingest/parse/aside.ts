import { moduleBeside } from '../../../platform/processes/module_beside.ts';
import { openThread, wholeBuffer } from '../../../platform/processes/thread.ts';
import { arrived } from './carried.ts';
import type { CarriedRead } from './carried.ts';
import type { ReadEvent } from './event.ts';
import type { Intake } from '../rules/intake.ts';
import type { FaultyList } from './event_list.ts';
import { eachPiece } from './pieces.ts';
import type { Piece } from './pieces.ts';

/**
 * From this many bytes, a thread reads the JSON: smaller texts take a few milliseconds at most,
 * whatever they contain.
 */
export const aside_bytes_min = 64 * 1024;
/** Memory of a reading thread: 20 MiB of JSON can need a hundred times that as objects. */
export const aside_memory_mb_max = 2_048;

/** A request to the thread: read a line, read a list, continue a list, or drop it. */
export type AsideQuestion =
  | { kind: 'line'; bytes: Uint8Array; now: number; intake?: Intake | undefined }
  | { kind: 'list'; list: number; bytes: Uint8Array; now: number; intake?: Intake | undefined }
  | { kind: 'more' | 'drop'; list: number };
/** The thread's answer; `gone` for a list that an earlier thread held when it ended. */
export type AsideReply =
  | { kind: 'line'; read: CarriedRead | undefined }
  | ({ kind: 'list' } & FaultyList)
  | { kind: 'list'; is_list: boolean; fault?: undefined }
  | ({ kind: 'more' } & Piece<CarriedRead>)
  | { kind: 'gone' };

const thread = openThread<AsideQuestion, AsideReply>(
  moduleBeside(import.meta, 'aside_thread'),
  aside_memory_mb_max,
);
let last_list = 0;

/**
 * Reads one event from the bytes of a long line, outside the event loop; undefined for a blank
 * line. The bytes are no longer usable afterwards.
 */
export async function readLineAside(
  bytes: Uint8Array,
  now: number,
  intake?: Intake,
): Promise<ReadEvent | undefined> {
  const reply = await thread.ask({ kind: 'line', bytes, now, intake }, wholeBuffer(bytes));
  if (reply.kind !== 'line') throw new Error('The thread sent an unexpected answer.');
  return reply.read === undefined ? undefined : arrived(reply.read);
}

/**
 * Reads a long list of events outside the event loop: returns its fault, or its events in small
 * groups on demand. The whole list has been checked to be JSON before the first group. The bytes
 * are no longer usable afterwards.
 */
export async function readListAside(
  bytes: Uint8Array,
  now: number,
  intake?: Intake,
): Promise<FaultyList | { is_list: boolean; reads: AsyncIterable<ReadEvent[]> }> {
  // Numbered here, so that no thread confuses its lists with another thread's.
  const list = (last_list += 1);
  const reply = await thread.ask({ kind: 'list', list, bytes, now, intake }, wholeBuffer(bytes));
  if (reply.kind !== 'list') throw new Error('The thread sent an unexpected answer.');
  if (reply.fault !== undefined) {
    const { kind: _list, ...fault } = reply;
    return fault;
  }
  const { is_list } = reply;
  const more = async () => {
    const piece = await thread.ask({ kind: 'more', list });
    if (piece.kind !== 'more') throw new Error('The thread ended before the end of its list.');
    return { reads: piece.reads.map(arrived), is_last: piece.is_last };
  };
  return { is_list, reads: eachPiece(more, () => thread.tell({ kind: 'drop', list })) };
}
