import type { Problem } from './problem.ts';

let confirm: (problem?: Problem) => Promise<boolean> = () => Promise.resolve(false);

/**
 * Registers the function that asks a person to confirm their identity; it returns whether they did.
 */
export function whenUnconfirmed(ask: (problem?: Problem) => Promise<boolean>): void {
  confirm = ask;
}

/** Asks the person to confirm their identity because of a refusal; returns whether they did. */
export function confirmPerson(problem?: Problem): Promise<boolean> {
  return confirm(problem);
}

/** Returns true for a refusal that a confirmation may lift. */
export function isUnconfirmed({ status, code }: Problem): boolean {
  return status === 403 && (code === 'own_factor_required' || code === 'second_factor_required');
}

/** Returns true for a refusal that says how the person has to sign in or what to confirm. */
export function isForPerson(problem: Problem): boolean {
  return isUnconfirmed(problem) || (problem.status === 403 && problem.code === 'sso_enforced');
}
