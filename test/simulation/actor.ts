/** A disturbance of a process at one of its steps. */
export type Blow =
  /** kill -9: before the step, or after it while its answer is in transit. */
  | 'is killed before'
  | 'is killed after'
  /** The connection breaks: before the step, or while its answer is in transit. */
  | 'loses the request'
  | 'loses the answer'
  /** It counts as dead, and continues when it is woken. */
  | 'falls asleep'
  /**
   * It is slow for a moment, also within a transaction, until another actor takes the step `until`.
   */
  | 'lingers';

/** A text in the label of a step, or several, each in the label of a later step. */
export type Mark = string | readonly string[];

/** Returns the rest of a mark after a step of this label; undefined once it is reached. */
export function passedBy(mark: Mark, label: string): Mark | undefined {
  const [first, ...others] = [mark].flat();
  if (!label.includes(first!)) return mark;
  return others.length > 0 ? others : undefined;
}

/**
 * A disturbance after this many more steps, counted from the step at the mark `after` (or the `nth`
 * there). With 0 steps it hits that step itself. A sleeping or lingering actor continues as soon as
 * another one takes the step at the mark `until`.
 */
export type Coming = {
  kind: Blow;
  steps: number;
  after?: Mark | undefined;
  nth?: number;
  until?: Mark;
};

/** An actor that takes steps: a process, or a request of a person. */
export type Actor = {
  name: string;
  is_dead: boolean;
  is_asleep: boolean;
  /** True if it is only slow, and does not count as dead. */
  is_lingering: boolean;
  /** The step that wakes it. */
  alarm: Mark | undefined;
  /** Number of its open transactions. */
  transactions: number;
  /** True once a disturbance has hit it. */
  is_struck: boolean;
  /** The coming disturbance. */
  blow: Coming | undefined;
  /** Ends its sessions, as the system does for a killed process. */
  bury(): Promise<void>;
};

/** An actor without disturbances; `bury` ends its sessions. */
export function newActor(name: string, bury: Actor['bury'] = async () => undefined): Actor {
  return {
    name,
    is_dead: false,
    is_asleep: false,
    is_lingering: false,
    alarm: undefined,
    is_struck: false,
    transactions: 0,
    blow: undefined,
    bury,
  };
}

/** Counts down to a disturbance by a step of this label. */
export function countDown(blow: Coming | undefined, label: string): void {
  if (blow === undefined) return;
  if (blow.after === undefined) blow.steps -= 1;
  else {
    const rest = passedBy(blow.after, label);
    if (rest !== undefined) blow.after = rest;
    else if ((blow.nth ?? 1) > 1) blow.nth = blow.nth! - 1;
    else blow.after = undefined;
  }
}

/** Returns true if the disturbance is due. */
export function isDue(blow: Coming | undefined): blow is Coming {
  return blow !== undefined && blow.after === undefined && blow.steps <= 0;
}
