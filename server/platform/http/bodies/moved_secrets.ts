import { isDeepStrictEqual } from 'node:util';
import type { Violation } from '../errors.ts';

type Config = Readonly<Record<string, unknown>>;

/** Keys of a config that are secret, and keys that determine where the secrets go. */
export type Places = {
  secrets: readonly string[];
  /** Keys whose change would send the secrets to another place. */
  where: readonly string[];
  /**
   * For keys in `where`: the value that makes the connection less safe. A change to any other value
   * is harmless.
   */
  less_safe?: Config;
};

/**
 * A secret belongs to its original place: a user who may change a config must not be able to
 * redirect an unknown secret to their own listener. Returns a violation for each secret of `after`
 * that was not `sent` although a key of `where` has changed. Both configs are complete, with
 * defaults.
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

/** Returns the value of a key; undefined if it has no effect. */
function meaningOf(config: Config, key: string): unknown {
  const value = Object.hasOwn(config, key) ? config[key] : undefined;
  const isNothing = value === null || value === '' || isDeepStrictEqual(value, {});
  return isNothing ? undefined : value;
}
