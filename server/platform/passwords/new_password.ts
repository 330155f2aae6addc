import { isBreached } from './breached.ts';
import { passwordFault } from './password_rules.ts';

/**
 * Returns why a chosen password is not acceptable, as a sentence; undefined if it is: hard to guess
 * (`passwordFault`, which uses `own`) and not in the list of breached ones. The schema checks its
 * length.
 */
export async function newPasswordFault(
  password: string,
  own: readonly string[],
): Promise<string | undefined> {
  const guessable = passwordFault(password, own);
  if (guessable !== undefined) return guessable;
  return (await isBreached(password))
    ? 'This password is in a public list of stolen passwords, which attackers try first. Use ' +
        'several unrelated words, or a password from a password manager.'
    : undefined;
}
