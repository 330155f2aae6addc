import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';

/** `low`: somebody should check; `full`: no event is accepted until there is space again. */
export type DiskState = 'ok' | 'low' | 'full';

/**
 * A place of the stores with its free and total space, and the total size of the stores. `inodes`:
 * the files that can be created; a total of 0 means no limit.
 */
export type Measured = {
  places: {
    name: string;
    free_bytes: number;
    total_bytes: number;
    inodes?: { free: number; total: number };
  }[];
  used_bytes: number | undefined;
};

/**
 * The free space to keep on each disk, and the budget of the stores. Undefined means our own
 * default.
 */
export type DiskBounds = { free_bytes_min: number | undefined; budget_bytes: number };

/** The stores' disk space, as one process sees it. */
export type DiskRoom = {
  /** Returns the last measured state; undefined before the first measurement. */
  state(): DiskState | undefined;
  /** Returns the reason as a sentence; empty while there is enough space. */
  detail(): string;
  /** Returns true if no more events may be accepted. */
  isFull(): boolean;
  /** Measures again. A failed measurement leaves the state unchanged. */
  look(): Promise<void>;
};

const mebibyte = 2 ** 20;
/** Enough for events in progress, the stores' own files and their merges. */
const floor_bytes = { min: 128 * mebibyte, max: 1024 * mebibyte, share: 0.05 };
/** A file system that can create fewer files counts as full, whatever its space. */
const inode_floor = { max: 5_000, share: 0.02 };
/** Once full, more space than this is needed to continue, which avoids flapping. */
const again = 1.25;
/** From this share of the limit, the state is low. */
const low = { free: 2, used: 0.85 };

/** Returns the free bytes to keep on a disk of this size. */
function floorOf(total_bytes: number, { free_bytes_min }: DiskBounds): number {
  const { min, max, share } = floor_bytes;
  return free_bytes_min ?? Math.max(min, Math.min(max, total_bytes * share));
}

function inodeFloorOf(total: number): number {
  return Math.min(inode_floor.max, total * inode_floor.share);
}

function isShortOfInodes({ inodes }: Measured['places'][number], times: number): boolean {
  if (inodes === undefined || inodes.total === 0) return false;
  return inodes.free < times * inodeFloorOf(inodes.total);
}

/**
 * Judges the results of `measure`. A change of the state is logged and shown as metrics; while
 * full, it needs a quarter more of free space to continue.
 */
export function openDiskRoom(
  measure: () => Promise<Measured>,
  bounds: DiskBounds,
  { log, metrics }: { log: Logger; metrics: Metrics },
): DiskRoom {
  let judged: { state: DiskState; detail: string } | undefined;
  return {
    state: () => judged?.state,
    detail: () => judged?.detail ?? '',
    isFull: () => judged?.state === 'full',
    look: async () => {
      let measured: Measured;
      try {
        measured = await measure();
      } catch (error) {
        // Happens every two seconds while a store is unavailable, which others report.
        log.debug({ err: error }, 'the free space on disk could not be measured');
        return;
      }
      const before = judged?.state;
      judged = judge(measured, bounds, before);
      for (const { name, free_bytes } of measured.places)
        metrics.disk_free_bytes.set({ place: name }, free_bytes);
      metrics.disk_state.set(['ok', 'low', 'full'].indexOf(judged.state));
      if (before === judged.state || (before === undefined && judged.state === 'ok')) return;
      const { state, detail } = judged;
      if (state === 'full') log.error(`the disk is full: events are refused. ${detail}`);
      else if (state === 'low') log.warn(`the disk is nearly full. ${detail}`);
      else log.info('the disk has free space again');
    },
  };
}

function judge(
  { places, used_bytes }: Measured,
  bounds: DiskBounds,
  before: DiskState | undefined,
): { state: DiskState; detail: string } {
  const factor = before === 'full' ? again : 1;
  const short = (times: number) =>
    places.find(
      (place) =>
        place.free_bytes < times * floorOf(place.total_bytes, bounds) ||
        isShortOfInodes(place, times),
    );
  const isOver = (share: number) =>
    bounds.budget_bytes > 0 && (used_bytes ?? 0) >= share * bounds.budget_bytes;
  const place = short(factor) ?? short(low.free);
  const told = [
    ...(place === undefined ? [] : [sentenceOf(place, bounds)]),
    ...(isOver(Math.min(low.used, 1 / factor))
      ? [`The stores take ${inMebibytes(used_bytes!)} of ${inMebibytes(bounds.budget_bytes)}.`]
      : []),
  ].join(' ');
  if (short(factor) !== undefined || isOver(1 / factor)) return { state: 'full', detail: told };
  return told === '' ? { state: 'ok', detail: '' } : { state: 'low', detail: told };
}

function sentenceOf(place: Measured['places'][number], bounds: DiskBounds): string {
  const { name, free_bytes, total_bytes, inodes } = place;
  if (inodes !== undefined && isShortOfInodes(place, low.free))
    return (
      `The ${name} has ${inodes.free} inodes free, so it can create that many files; ` +
      `${Math.ceil(inodeFloorOf(inodes.total))} have to stay free. Delete files there, or use a ` +
      'file system with more inodes.'
    );
  const floor = floorOf(total_bytes, bounds);
  const [free, wanted] = [inMebibytes(free_bytes), inMebibytes(floor)];
  return `The ${name} has ${free} free; ${wanted} have to stay free.`;
}

function inMebibytes(bytes: number): string {
  return `${Math.round(bytes / mebibyte)} MiB`;
}
