import type { Problem } from './problem.ts';

let confirm: (problem?: Problem) => Promise<boolean> = () => Promise.resolve(false);

/** Has `ask` called whenever somebody has to confirm that it is they; it gives whether they did. */
export function whenUnconfirmed(ask: (problem?: Problem) => Promise<boolean>): void {
  confirm = ask;
}

/** Asks the person to confirm that it is they, because of the refusal; gives whether they did. */
export function confirmPerson(problem?: Problem): Promise<boolean> {
  return confirm(problem);
}

/** True for a refusal that a confirmation of the person may lift. */
export function isUnconfirmed({ status, code }: Problem): boolean {
  return status === 403 && (code === 'own_factor_required' || code === 'second_factor_required');
}

/** True for a refusal that says how the person has to sign in or what they have to confirm. */
export function isForPerson(problem: Problem): boolean {
  return isUnconfirmed(problem) || (problem.status === 403 && problem.code === 'sso_enforced');
}
