import { ApiError, invalidMany } from '../../../platform/http/errors.ts';
import type { Violation } from '../../../platform/http/errors.ts';

/** Gathers the violations of several checks, so that one answer names them all. */
export type Collected = {
  /** Returns the check's result, or undefined if it threw a 400 (whose violations are kept). */
  from<Result>(check: () => Result): Result | undefined;
  add(violations: Violation[]): void;
  /** The violations collected so far. */
  violations(): Violation[];
  /** Throws one 400 with all violations; does nothing without one. */
  throwIfAny(): void;
};

/**
 * Returns an empty collection. If two checks find the same code at the same field, only the first
 * violation is kept.
 */
export function collectViolations(): Collected {
  const found: Violation[] = [];
  const add = (violations: Violation[]) => {
    const known = new Set(found.map(nameOf));
    found.push(...violations.filter((one) => !known.has(nameOf(one))));
  };
  return {
    add,
    violations: () => found,
    from: (check) => {
      try {
        return check();
      } catch (error) {
        if (!(error instanceof ApiError) || error.type !== 'validation_error') throw error;
        add(error.violations);
        return undefined;
      }
    },
    throwIfAny: () => {
      if (found.length > 0) throw invalidMany(found);
    },
  };
}

function nameOf({ attr, code }: Violation): string {
  return `${attr} ${code}`;
}
