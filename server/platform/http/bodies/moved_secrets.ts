import { isDeepStrictEqual } from 'node:util';
import type { Violation } from '../errors.ts';

type Config = Readonly<Record<string, unknown>>;

/** Keys of a config that are secret, and keys that say where the secrets go. */
export type Places = {
  secrets: readonly string[];
  /** Keys whose change would take the secrets to another place. */
  where: readonly string[];
  /**
   * For keys in `where`: the value that makes the connection less safe. A change to any other value
   * harms nobody.
   */
  less_safe?: Config;
};

/**
 * A secret belongs to the place that it was given for: whoever may change a config must not be able
 * to have a secret that they do not know sent to a listener of their own. Gives a violation for
 * each secret of `after` that was not `sent` although a key that says where has changed. Both
 * configs are whole, defaults included.
 */
export function movedSecrets(
  { secrets, where, less_safe = {} }: Places,
  before: Config,
  after: Config,
  { sent, prefix = '' }: { sent: ReadonlySet<string>; prefix?: string },
): Violation[] {
  const changed = where.filter(
    (key) =>
      !isDeepStrictEqual(meaningOf(before, key), meaningOf(after, key)) &&
      (!Object.hasOwn(less_safe, key) || isDeepStrictEqual(after[key], less_safe[key])),
  );
  if (changed.length === 0) return [];
  return secrets
    .filter((key) => !sent.has(key) && meaningOf(after, key) !== undefined)
    .map((key) => ({
      attr: `${prefix}${key}`,
      code: 'required',
      detail:
        `Send it again: the stored value belongs to another ${changed.join(', ')}, and Sluice ` +
        'never sends it to a new place by itself.',
    }));
}

/** The value of a key; undefined where it says nothing. */
function meaningOf(config: Config, key: string): unknown {
  const value = Object.hasOwn(config, key) ? config[key] : undefined;
  const isNothing = value === null || value === '' || isDeepStrictEqual(value, {});
  return isNothing ? undefined : value;
}
