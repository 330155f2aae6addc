/** A disturbance of a process at one of its steps. */
export type Blow =
  /** kill -9: before the step, or when it is done and its answer in transit. */
  | 'is killed before'
  | 'is killed after'
  /** The connection breaks: before the step is asked for, or while its answer is in transit. */
  | 'loses the request'
  | 'loses the answer'
  /** It is believed dead, and continues when it is woken. */
  | 'falls asleep';

/**
 * A disturbance that is to come after so many more steps, counted from the first step whose label
 * has the text `after` (or the `nth`): with 0 steps that one itself is struck. One who fell asleep
 * wakes up as soon as anybody else takes a step whose label has the text `until`.
 */
export type Coming = {
  kind: Blow;
  steps: number;
  after?: string | undefined;
  nth?: number;
  until?: string;
};

/** Whoever takes steps: a process, or a request of a person. */
export type Actor = {
  name: string;
  is_dead: boolean;
  is_asleep: boolean;
  /** Part of the label of a step that wakes it. */
  alarm: string | undefined;
  /** Number of its open transactions. */
  transactions: number;
  /** A disturbance has befallen it. */
  is_struck: boolean;
  /** The coming disturbance. */
  blow: Coming | undefined;
  /** Ends its sessions, as the system does for a process that was killed. */
  bury(): Promise<void>;
};

/** An actor that nothing befalls; `bury` ends its sessions. */
export function newActor(name: string, bury: Actor['bury'] = async () => undefined): Actor {
  return {
    name,
    is_dead: false,
    is_asleep: false,
    alarm: undefined,
    is_struck: false,
    transactions: 0,
    blow: undefined,
    bury,
  };
}

/** Counts a coming disturbance down by a step of this label. */
export function countDown(blow: Coming | undefined, label: string): void {
  if (blow === undefined) return;
  if (blow.after === undefined) blow.steps -= 1;
  else if (label.includes(blow.after)) {
    blow.nth = (blow.nth ?? 1) - 1;
    if (blow.nth === 0) blow.after = undefined;
  }
}

/** Tells if the disturbance comes now. */
export function isDue(blow: Coming | undefined): blow is Coming {
  return blow !== undefined && blow.after === undefined && blow.steps <= 0;
}
