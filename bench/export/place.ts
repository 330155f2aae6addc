/**
 * Seconds until the load ended. If the loader does not flush, this includes the time until the data
 * was on the disk.
 */
export type Loaded = { loaded: number; flushed?: number };

/** A destination of the bench. */
export type Place = {
  name: string;
  own_name: string;
  /** The target ratio. */
  aim?: number;
  /** Creates the file that the loader loads, if it loads one. */
  prepare?(team_id: number): Promise<void>;
  /** Returns a new destination of ours, with the place that it writes to. */
  destination(): Promise<object>;
  /** Loads the same rows by the other way. It runs after ours, whose table it may copy. */
  own(team_id: number): Promise<Loaded>;
  /** Removes the rows of both ways. */
  tidyUp(): Promise<void>;
  close?(): Promise<void>;
};

/** The exported rows, in the order in which Sluice delivers them. */
export function sourceOf(team_id: number): string {
  return `FROM events WHERE team_id = ${team_id} ORDER BY inserted_at, uuid`;
}

/** Returns the seconds that the work took. */
export async function seconds(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}
