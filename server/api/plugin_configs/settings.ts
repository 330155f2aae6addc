import { placeKeys, withDefaults } from '../../engine/plugins/config_places.ts';
import { fieldsOf, secretNames } from '../../engine/plugins/config_schema.ts';
import { configFaults } from '../../engine/plugins/packages/manifest.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { movedSecrets } from '../../platform/http/bodies/moved_secrets.ts';

/** The values of a config with its secrets, in memory only. */
export type Settings = Record<string, unknown>;

/**
 * PATCH puts the sent values over the stored ones. PUT keeps only stored secrets, because clients
 * cannot read and send them back.
 */
export type HowToChange = 'merge' | 'replace';

/**
 * Returns the values after a change, without values that were sent as null or whose field the
 * plugin no longer has.
 */
export function changedSettings(
  config_schema: unknown,
  stored: Settings,
  secret_keys: readonly string[],
  sent: Settings,
  how: HowToChange,
): Settings {
  const known = new Set(fieldsOf(config_schema).map(({ key }) => key));
  const kept = Object.entries(stored).filter(
    ([key]) =>
      known.has(key) && !Object.hasOwn(sent, key) && (how === 'merge' || secret_keys.includes(key)),
  );
  // `fromEntries` keeps a key named __proto__ as a key, so it is refused as unknown.
  return Object.fromEntries([
    ...kept,
    ...Object.entries(sent).filter(([, value]) => value !== null),
  ]);
}

/** Most characters of JSON for all values of a config, because every list shows them. */
const settings_length_max = 1_000_000;

/**
 * Lists the faults of the values, named `config__<key>`, or `config` if they are too long in total.
 * A disabled config may lack required values.
 */
export function settingsFaults(
  config_schema: unknown,
  settings: Settings,
  enabled: boolean,
): Violation[] {
  if (JSON.stringify(settings).length > settings_length_max)
    return [
      {
        attr: 'config',
        code: 'max_length',
        detail: `The values must have at most ${settings_length_max} characters of JSON in total.`,
      },
    ];
  return configFaults(fieldsOf(config_schema), settings)
    .filter(({ code }) => enabled || code !== 'required')
    .map(({ attr, code, detail }) => ({ attr: `config__${attr}`, code, detail }));
}

/**
 * Returns the names of values to seal: values of secret fields, and kept values that were sealed
 * before.
 */
export function sealedNames(config_schema: unknown, secret_keys: readonly string[]): Set<string> {
  return new Set([...secretNames(fieldsOf(config_schema)), ...secret_keys]);
}

/** The settings of a config, and the hosts that it may reach. */
export type Reach = { settings: Settings; allowed_hosts: readonly string[] };

/**
 * Returns the violations of a change that would send stored secrets to another place: a field of
 * the address has changed, or a host is newly allowed. Such a change must include each secret.
 */
export function movedSettings(
  config_schema: unknown,
  before: Reach,
  after: Reach,
  { secret_keys, sent }: { secret_keys: Iterable<string>; sent: Settings },
): Violation[] {
  const { where, old, next } = placesOf(config_schema, before, after);
  return movedSecrets(
    { secrets: [...secret_keys].filter((key) => Object.hasOwn(after.settings, key)), where },
    old,
    next,
    { sent: new Set(Object.keys(sent)), prefix: 'config__' },
  );
}

/** Returns true for a change that would send the config's values to another place. */
export function movesPlace(config_schema: unknown, before: Reach, after: Reach): boolean {
  const { where, old, next } = placesOf(config_schema, before, after);
  const places = { secrets: ['token'], where };
  return movedSecrets(places, old, { ...next, token: '*' }, { sent: new Set() }).length > 0;
}

function placesOf(config_schema: unknown, before: Reach, after: Reach) {
  const fields = fieldsOf(config_schema);
  const [old, next] = [before, after].map(({ settings }) => withDefaults(fields, settings));
  // Removing a host sends no secret anywhere.
  const added = after.allowed_hosts.filter((host) => !before.allowed_hosts.includes(host));
  return {
    where: [...placeKeys(fields, old!, next!), 'allowed_hosts'],
    old: { ...old, allowed_hosts: [] },
    next: { ...next, allowed_hosts: added },
  };
}
