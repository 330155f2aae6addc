/** The actions of a rule, each on events by their names. */
export const rule_actions = [
  'drop_event',
  'drop_property',
  'hash_property',
  'rename_property',
  'set_property',
] as const;

/**
 * The places of a property: of the event (`properties`), of its person (`$set`, `$set_once`), of a
 * group (`$group_set`), or all of them.
 */
export const rule_targets = ['any', 'event', 'person', 'group'] as const;

/** A rule as ingestion needs it. */
export type Rule = {
  id: string;
  /** Names of events, a `*` at the end for all that begin so; none for all events. */
  events: string[];
  action: (typeof rule_actions)[number];
  /** Name of the property; null for `drop_event`. */
  property: string | null;
  target: (typeof rule_targets)[number];
  /** The other name of `rename_property`. */
  new_name: string | null;
  /** The constant of `set_property`. */
  value: string | number | boolean | null;
  only_if_missing: boolean;
};

/** Most rules of a project. */
export const rules_max = 1_000;

/** Names that say which event it is, when and whose: no rule changes them. */
export const fixed_names: readonly string[] = ['uuid', 'timestamp', 'distinct_id'];
/** Properties that hold the properties of persons and groups: a rule may only drop them. */
export const holder_names: readonly string[] = ['$set', '$set_once', '$unset', '$group_set'];

/** A name, or with a `*` at its end the beginning of names. */
export type NamePattern = { text: string; is_prefix: boolean };

/** Reads a name that may have a `*` at its end. */
export function patternOf(written: string): NamePattern {
  const is_prefix = written.endsWith('*');
  return { text: is_prefix ? written.slice(0, -1) : written, is_prefix };
}

/** Does the name match? */
export function matches({ text, is_prefix }: NamePattern, name: string): boolean {
  return is_prefix ? name.startsWith(text) : name === text;
}
