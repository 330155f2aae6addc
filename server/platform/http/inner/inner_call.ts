import { AsyncLocalStorage } from 'node:async_hooks';
import type { Change } from '../../activity/changes.ts';
import type { Access, Caller } from '../caller/access.ts';

/** Work that takes long, and the bytes of memory of its result. */
export type Work<Result> = { run: () => Promise<Result>; bytesOf: (result: Result) => number };

/** The outcome of an inner request. */
export type Outcome = { result: unknown } | { error: unknown };

/** The work prepared for inner requests before their transaction began, and the missing work. */
export type Beforehand = {
  done: Map<string, Outcome>;
  lacking: Map<string, Work<unknown>>;
};

/**
 * A request that the server makes to itself on behalf of a caller, inside their transaction; see
 * `inner_requests.ts`.
 */
export type InnerCall = {
  caller: Caller;
  access: Access;
  /** Projects that inner calls of the same transaction found in the organization. */
  projects: Map<string, Pick<Access, 'team_id' | 'timezone'>>;
  /** Registers an effect that runs after the caller's transaction has been committed. */
  afterwards(effect: () => Promise<unknown>): void;
  /** For a dry run: scopes and levels that the caller lacks. */
  lacks: Set<string | 1 | 8 | 15> | undefined;
  /** The work prepared before the transaction began. */
  beforehand: Beforehand;
  /** Additional changes in the entry of the activity log. */
  also: Change[];
  /** The changes that `write()` recorded. */
  changes: Change[] | undefined;
  fault: Error | undefined;
};

const calls = new AsyncLocalStorage<InnerCall>();

/** Returns the inner call of the present request; undefined for one from outside. */
export function innerCall(): InnerCall | undefined {
  return calls.getStore();
}

/** Runs `work` and everything that it starts as part of the inner call. */
export function asInnerCall<Result>(call: InnerCall, work: () => Result): Result {
  return calls.run(call, work);
}
