import { Worker } from 'node:worker_threads';
import { compiledModules } from '../../platform/compiled.ts';
import { moduleBeside } from '../../platform/module_beside.ts';
import { arrived } from './carried.ts';
import type { CarriedRead } from './carried.ts';
import type { ReadEvent } from './event.ts';
import type { ListFault } from './event_list.ts';

/**
 * From so many bytes of JSON on reading is work for the thread: what is below takes a few
 * milliseconds at most, whatever it holds.
 */
export const aside_bytes_min = 64 * 1024;
/** How long a thread that nobody uses is kept: it takes some 10 MB, and what it read last. */
const idle_ms = 30_000;
/** Memory of the thread: 20 MiB of JSON can be a hundred times that as objects. */
const memory_mb_max = 2_048;

/**
 * What the thread is asked: to read a line, to read a list, to go on with a list, or to forget it.
 */
export type AsideRequest =
  | { id: number; kind: 'line' | 'list'; bytes: Uint8Array; now: number }
  | { id: number; kind: 'more' | 'drop' };
/** What it answers. */
export type AsideReply =
  | { id: number; kind: 'line'; read: CarriedRead | undefined }
  | { id: number; kind: 'list'; fault: ListFault }
  | { id: number; kind: 'list'; is_list: boolean; fault?: undefined }
  | { id: number; kind: 'more'; reads: CarriedRead[]; is_last: boolean };

type Waiting = { resolve(reply: AsideReply): void; reject(error: unknown): void };
type Thread = { worker: Worker; waiting: Map<number, Waiting>; idle: NodeJS.Timeout | undefined };

let thread: Thread | undefined;
let last_id = 0;

/**
 * Reads one event from the bytes of a long line, beside the event loop; undefined for a blank line.
 * The bytes are gone afterwards.
 */
export async function readLineAside(
  bytes: Uint8Array,
  now: number,
): Promise<ReadEvent | undefined> {
  const reply = await ask({ id: (last_id += 1), kind: 'line', bytes, now });
  if (reply.kind !== 'line') throw new Error('The thread answered something else.');
  return reply.read === undefined ? undefined : arrived(reply.read);
}

/**
 * Reads a long list of events beside the event loop: what is wrong with it as a whole, or its
 * events, a few at a time and not before they are wanted. The whole is known to be JSON before the
 * first of them comes. The bytes are gone afterwards.
 */
export async function readListAside(
  bytes: Uint8Array,
  now: number,
): Promise<{ fault: ListFault } | { is_list: boolean; reads: AsyncIterable<ReadEvent[]> }> {
  const id = (last_id += 1);
  const reply = await ask({ id, kind: 'list', bytes, now });
  if (reply.kind !== 'list') throw new Error('The thread answered something else.');
  if (reply.fault !== undefined) return { fault: reply.fault };
  return { is_list: reply.is_list, reads: readsOf(id) };
}

async function* readsOf(id: number): AsyncGenerator<ReadEvent[]> {
  let is_last = false;
  try {
    while (!is_last) {
      const reply = await ask({ id, kind: 'more' });
      if (reply.kind !== 'more') throw new Error('The thread answered something else.');
      ({ is_last } = reply);
      yield reply.reads.map(arrived);
    }
  } finally {
    if (!is_last) thread?.worker.postMessage({ id, kind: 'drop' } satisfies AsideRequest, []);
  }
}

function ask(request: AsideRequest): Promise<AsideReply> {
  const { worker, waiting, idle } = (thread ??= startThread());
  clearTimeout(idle);
  worker.ref();
  return new Promise((resolve, reject) => {
    waiting.set(request.id, { resolve, reject });
    worker.postMessage(request, 'bytes' in request ? transferable(request.bytes) : []);
  });
}

/** The buffer behind the bytes, where nothing else lies in it. */
function transferable(bytes: Uint8Array): ArrayBuffer[] {
  const { buffer, byteLength } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}

function startThread(): Thread {
  const worker = new Worker(moduleBeside(import.meta, 'aside_thread'), {
    env: compiledModules(),
    resourceLimits: { maxOldGenerationSizeMb: memory_mb_max },
  });
  const started: Thread = { worker, waiting: new Map(), idle: undefined };
  worker.on('message', (reply: AsideReply) => {
    started.waiting.get(reply.id)?.resolve(reply);
    started.waiting.delete(reply.id);
    if (started.waiting.size > 0) return;
    worker.unref();
    clearTimeout(started.idle);
    started.idle = setTimeout(() => end(started), idle_ms).unref();
  });
  // Whatever it died of, the requests that it was reading for fail, and the next one finds a new
  // thread.
  worker.on('error', (error) => end(started, error));
  worker.on('exit', () => end(started));
  return started;
}

function end(ended: Thread, error: unknown = new Error('The thread that reads ended.')): void {
  if (thread === ended) thread = undefined;
  clearTimeout(ended.idle);
  for (const { reject } of ended.waiting.values()) reject(error);
  ended.waiting.clear();
  void ended.worker.terminate();
}
