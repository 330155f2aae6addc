import { isBreached } from './breached.ts';
import { passwordFault } from './password_rules.ts';

/**
 * Why a password that somebody chooses will not do, as a sentence; undefined when it will: it is
 * not easy to guess (`passwordFault`, which `own` is for) and not in the list of breached ones. Its
 * length is checked by the schema.
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
