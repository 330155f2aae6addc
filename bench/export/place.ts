/** Seconds until it was loaded, and where that does not flush, until it was on the disk as well. */
export type Loaded = { loaded: number; flushed?: number };

/** A place that is exported to. */
export type Place = {
  name: string;
  own_name: string;
  /** The ratio that is aimed at. */
  aim?: number;
  /** Creates what the loader loads, where that is a file. */
  prepare?(team_id: number): Promise<void>;
  /** A new destination of ours, with the place that it writes to. */
  destination(): Promise<object>;
  /** Loads the same by the other way; called after ours, whose table it may copy the columns of. */
  own(team_id: number): Promise<Loaded>;
  /** Removes what both have written. */
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
