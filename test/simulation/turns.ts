import process from 'node:process';
import timers from 'node:timers/promises';
import type { Random } from '../chaos/random.ts';
import { countDown, isDue, passedBy } from './actor.ts';
import type { Actor } from './actor.ts';

/** The real functions; virtual time has others. */
const { setImmediate, setTimeout } = timers;

type Waiting = {
  actor: Actor;
  label: string;
  number: number;
  enter(): void;
  refuse(reason: Error): void;
};

/** A killed process gets no messages. */
const never = new Promise<never>(() => {});
const lost = () => new Error('Connection terminated unexpectedly');
const over = () => new Error('The history is over.');
/** Real milliseconds after which PostgreSQL is first asked whether a step waits for a lock. */
const look_ms = 3;
const stuck_ms_max = 20_000;
/** Even chances find few races, so one actor is usually far behind. */
const speeds = [1, 1, 1, 8];

/**
 * Gives actors their turns, one step at a time, in the order of the seed. A step is a statement or
 * a call of the destination. PostgreSQL reports which actors wait for a lock; the others do not
 * wait for these.
 */
export class Turns {
  /** A line for each step. */
  readonly trace: string[];
  private readonly random: Random;
  private readonly surroundings: Surroundings;
  private waiting: Waiting[] = [];
  private number = 0;
  private is_on = false;
  private is_over = false;
  /** Actors of steps in progress. */
  private under_way: Actor[] = [];
  /** Ended steps whose actors have not been told. */
  private answers: { at: number; tell(): void }[] = [];
  private over = 0;
  private speeds = new Map<Actor, number>();
  private onOver = () => {};

  constructor(random: Random, trace: string[], surroundings: Surroundings) {
    this.random = random;
    this.trace = trace;
    this.surroundings = surroundings;
  }

  /** Takes a step of the actor in its turn; outside of `play` at once. */
  async step<Result>(actor: Actor, label: string, work: () => Promise<Result>): Promise<Result> {
    if (actor.is_dead) return never;
    if (!this.is_on) return work();
    if (this.is_over) throw over();
    await new Promise<void>((enter, refuse) => {
      this.number += 1;
      this.waiting.push({ actor, label, number: this.number, enter, refuse });
    });
    return this.begin(actor, label, work);
  }

  /**
   * Lets actors take turns until no awake one has any left. `start` begins their work. `begun`
   * collects it, together with unfinished work of earlier plays.
   */
  async play(begun: Map<Actor, Promise<unknown>>, start: () => void): Promise<void> {
    this.is_on = true;
    this.speeds = new Map();
    start();
    const doing = new Set(begun.keys());
    for (const [actor, end] of begun)
      void end.finally(() => doing.delete(actor)).catch(() => undefined);
    while (await this.next(doing));
    for (const actor of begun.keys()) if (actor.is_dead) begun.delete(actor);
    this.is_on = false;
  }

  /**
   * Refuses the waiting and future steps of living actors, so that they hold no lock. Dead actors
   * get no error, because the loops of a process would retry forever.
   */
  end(): void {
    this.is_over = true;
    this.is_on = true;
    for (const { actor, refuse } of this.waiting.splice(0)) if (!actor.is_dead) refuse(over());
  }

  private async begin<Result>(
    actor: Actor,
    label: string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const at = this.trace.push(`${actor.name}: ${label}`) - 1;
    const note = (outcome: string) => (this.trace[at] += ` -> ${outcome}`);
    const due = isDue(actor.blow) ? actor.blow.kind : undefined;
    // A sleep comes between transactions; an actor lingers before a step.
    const kind = due === 'falls asleep' || due === 'lingers' ? undefined : due;
    if (kind !== undefined) {
      actor.blow = undefined;
      actor.is_struck = true;
      note(kind);
    }
    if (kind === 'loses the request') throw lost();
    this.under_way.push(actor);
    let result: Result;
    try {
      result = await work();
      note(told(result));
    } catch (error) {
      note(toldError(error));
      throw error;
    } finally {
      this.under_way = this.under_way.toSpliced(this.under_way.indexOf(actor), 1);
      this.over += 1;
      if (kind === 'is killed after') actor.is_dead = true;
      const answered = new Promise<void>((tell) => this.answers.push({ at, tell }));
      this.onOver();
      await answered;
      if (actor.is_dead) await never;
    }
    if (kind === 'loses the answer') throw lost();
    return result;
  }

  /**
   * Waits until every step has ended or waits for a lock. Simultaneous answers to steps that waited
   * for one lock are reported in the order of the steps.
   */
  private async settle(doing: Set<Actor>): Promise<void> {
    const began = Date.now();
    // Returns true if a working actor has no step in progress for a moment.
    const isIdle = (actor: Actor) =>
      !actor.is_dead &&
      !this.under_way.includes(actor) &&
      !this.waiting.some((one) => one.actor === actor);
    for (;;) {
      await drain();
      if (Date.now() - began > stuck_ms_max)
        throw new Error(`The simulation is stuck.\n${this.trace.slice(-20).join('\n')}`);
      const isStill = this.under_way.length === 0 || (await this.isBlocked(Date.now() - began));
      const answer = this.answers.toSorted((one, other) => one.at - other.at)[0];
      if (isStill && answer !== undefined) {
        this.answers = this.answers.filter((one) => one !== answer);
        answer.tell();
      } else if (answer === undefined && [...doing].some(isIdle)) await setTimeout(1);
      else if (isStill) return;
    }
  }

  /** Returns true if every step in progress waits for a lock; false after a moment. */
  private async isBlocked(waited_ms: number): Promise<boolean> {
    const { over } = this;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.onOver = resolve;
    await Promise.race([promise, setTimeout(Math.max(look_ms, waited_ms / 2))]);
    if (over !== this.over) return false;
    const blocked = await this.surroundings.blocked();
    return over === this.over && blocked === this.under_way.length;
  }

  private async next(doing: Set<Actor>): Promise<boolean> {
    await this.settle(doing);
    for (const actor of doing) if (actor.is_dead) await this.bury(actor, doing);
    const awake = this.waiting.filter(({ actor }) => !actor.is_asleep).toSorted(inOrder);
    if (awake.length === 0) return this.unblock();
    const chosen = this.choose(awake);
    const { actor } = chosen;
    countDown(actor.blow, chosen.label);
    const struck = isDue(actor.blow) ? actor.blow.kind : undefined;
    if (struck === 'is killed before') {
      await this.bury(actor, doing);
      return true;
    }
    // PostgreSQL ends the transactions of one that idles in them.
    if (struck === 'lingers' || (struck === 'falls asleep' && actor.transactions === 0)) {
      actor.alarm = actor.blow?.until;
      actor.blow = undefined;
      actor.is_struck ||= struck === 'falls asleep';
      actor.is_lingering = struck === 'lingers';
      actor.is_asleep = true;
      this.trace.push(`${actor.name} ${struck}`);
      return true;
    }
    this.waiting = this.waiting.filter((one) => one !== chosen);
    // Only sometimes, because it costs a query to PostgreSQL.
    if (this.random.next() < 0.2) await this.surroundings.onStep();
    this.ring(chosen);
    chosen.enter();
    return true;
  }

  private ring({ actor: ringer, label }: Waiting): void {
    for (const { actor } of this.waiting) {
      if (actor === ringer || actor.alarm === undefined) continue;
      actor.alarm = passedBy(actor.alarm, label);
      if (actor.alarm === undefined) this.wake(actor);
    }
  }

  /** Chooses the next turn: in each play, every actor has another speed. */
  private choose(waiting: Waiting[]): Waiting {
    const speedOf = ({ actor }: Waiting) => {
      const known = this.speeds.get(actor) ?? this.random.one(speeds);
      this.speeds.set(actor, known);
      return known;
    };
    const all = waiting.map(speedOf);
    let at = this.random.next() * all.reduce((sum, speed) => sum + speed, 0);
    return waiting.find((_, index) => (at -= all[index]!) < 0) ?? waiting.at(-1)!;
  }

  private wake(actor: Actor): void {
    actor.is_asleep = false;
    actor.is_lingering = false;
    this.trace.push(`${actor.name} wakes up`);
  }

  /** True if every awake actor waits; false if nothing is in progress. */
  private async unblock(): Promise<boolean> {
    // The step that the actor lingers for never comes.
    const lingerer = this.waiting.find(({ actor }) => actor.is_lingering);
    if (lingerer === undefined && this.under_way.length === 0) return false;
    // An actor waits for a sleeping one's lock, or PostgreSQL must resolve a deadlock.
    const sleeper = lingerer ?? this.waiting.find(({ actor }) => actor.is_asleep);
    if (sleeper === undefined) await setTimeout(look_ms);
    else this.wake(sleeper.actor);
    return true;
  }

  private async bury(actor: Actor, doing: Set<Actor>): Promise<void> {
    actor.is_dead = true;
    actor.is_struck = true;
    doing.delete(actor);
    this.trace.push(`${actor.name} is dead`);
    this.waiting = this.waiting.filter((one) => one.actor !== actor);
    await actor.bury();
  }
}

/**
 * Returns when all computation has ended: a turn of the event loop requested no other one, and no
 * file, name, thread or connection has an answer outstanding.
 */
async function drain(): Promise<void> {
  for (let still = 0; still < 3; still += 1) {
    await setImmediate();
    if (process.getActiveResourcesInfo().some((name) => requests.test(name))) still = -1;
  }
}

/** Names of outstanding requests. A wait of a timer, or for data, has other names. */
const requests = /^Immediate$|Req|ConnectWrap|WriteWrap|ShutdownWrap|Job|Work/;

/**
 * The functions that turns need: `blocked` counts sessions that wait for a lock, `onStep` lets time
 * pass.
 */
type Surroundings = { blocked(): Promise<number>; onStep(): Promise<void> };

/**
 * The order of arrival may be chance. It is therefore sorted by name, with each actor's own steps
 * in order.
 */
function inOrder(one: Waiting, other: Waiting): number {
  const [left, right] = [one, other].map(({ actor, label }) => `${actor.name} ${label}`) as [
    string,
    string,
  ];
  return left === right ? one.number - other.number : left < right ? -1 : 1;
}

function told(result: unknown): string {
  if (Array.isArray(result)) return `${result.length} rows`;
  if (typeof result === 'number') return `${result} rows`;
  return result === undefined ? 'nothing' : 'done';
}

function toldError(error: unknown): string {
  const { code, message } = error as { code?: string; message: string };
  return `error ${code ?? message}`;
}
