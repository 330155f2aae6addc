import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of buffers after which the young generation is collected: few enough to come before V8 counts them as pressure from outside. */
const collect_bytes = 16 * 1024 * 1024;

type Collect = (options: { type: 'minor' }) => void;
let collect: Collect | undefined;

function collector(): Collect {
  setFlagsFromString('--expose-gc');
  collect = runInNewContext('gc') as Collect;
  return collect;
}

/**
 * For streams of many short-lived buffers: call it with the bytes of each. Without it V8 answers their memory, which lies outside its heap, with a full marking of the heap
 * every few dozen megabytes, on threads that the export needs; a collection of the young generation frees them in about a millisecond. Measured on 2 cores: an export of 800 MB of JSON
 * lines was a third faster.
 */
export function openYoungGarbage(): (bytes: number) => void {
  let pending = 0;
  return (bytes) => {
    pending += bytes;
    if (pending < collect_bytes) return;
    pending = 0;
    (collect ?? collector())({ type: 'minor' });
  };
}
