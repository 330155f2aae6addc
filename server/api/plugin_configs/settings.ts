import { placeKeys, withDefaults } from '../../engine/plugins/config_places.ts';
import { fieldsOf, secretNames } from '../../engine/plugins/config_schema.ts';
import { configFaults } from '../../engine/plugins/packages/manifest.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { movedSecrets } from '../../platform/http/bodies/moved_secrets.ts';

/** A config's values, secrets included: in memory only. */
export type Settings = Record<string, unknown>;

/**
 * PATCH puts the sent values over the stored ones; PUT keeps of the stored ones only secrets, which
 * no client can read and send back.
 */
export type HowToChange = 'merge' | 'replace';

/**
 * The values after a change; a value sent as null is removed, and so is one whose field the plugin
 * has no more.
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
  // fromEntries and not assignment: a key named __proto__ stays a key, and is refused as an unknown
  // one.
  return Object.fromEntries([
    ...kept,
    ...Object.entries(sent).filter(([, value]) => value !== null),
  ]);
}

/** Characters of JSON that the values of a config may have together: every list shows them. */
const settings_length_max = 1_000_000;

/**
 * Lists the faults of the values, named `config__<key>`, or `config` if they are too long together.
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
        detail: `The values must have at most ${settings_length_max} characters of JSON together.`,
      },
    ];
  return configFaults(fieldsOf(config_schema), settings)
    .filter(({ code }) => enabled || code !== 'required')
    .map(({ attr, code, detail }) => ({ attr: `config__${attr}`, code, detail }));
}

/**
 * Names of the values that are sealed: those whose field is secret, and those that were sealed
 * before and are kept.
 */
export function sealedNames(config_schema: unknown, secret_keys: readonly string[]): Set<string> {
  return new Set([...secretNames(fieldsOf(config_schema)), ...secret_keys]);
}

/** The settings of a config with what it may reach. */
export type Reach = { settings: Settings; allowed_hosts: readonly string[] };

/**
 * The violations of a change that would take kept secrets elsewhere: a field that says where has
 * another value, or a host may be reached that could not before. Each secret must have been sent
 * with it.
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

/** True for a change that would take what the config sends along elsewhere. */
export function movesPlace(config_schema: unknown, before: Reach, after: Reach): boolean {
  const { where, old, next } = placesOf(config_schema, before, after);
  const places = { secrets: ['token'], where };
  return movedSecrets(places, old, { ...next, token: '*' }, { sent: new Set() }).length > 0;
}

function placesOf(config_schema: unknown, before: Reach, after: Reach) {
  const fields = fieldsOf(config_schema);
  const [old, next] = [before, after].map(({ settings }) => withDefaults(fields, settings));
  // A host that goes takes no secret elsewhere.
  const added = after.allowed_hosts.filter((host) => !before.allowed_hosts.includes(host));
  return {
    where: [...placeKeys(fields, old!, next!), 'allowed_hosts'],
    old: { ...old, allowed_hosts: [] },
    next: { ...next, allowed_hosts: added },
  };
}
