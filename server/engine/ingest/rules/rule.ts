/** The actions of a rule on the events that it names. */
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
  /** Names of events; a final `*` matches any ending; an empty list matches all events. */
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

/** Names that identify the event, its time and its person: no rule may change them. */
export const fixed_names: readonly string[] = ['uuid', 'timestamp', 'distinct_id'];
/** Properties that contain the properties of persons and groups: a rule may only drop them. */
export const holder_names: readonly string[] = ['$set', '$set_once', '$unset', '$group_set'];

/** A name, or the beginning of names before a final `*`. */
export type NamePattern = { text: string; is_prefix: boolean };

/** Reads a name that may end with `*`. */
export function patternOf(written: string): NamePattern {
  const is_prefix = written.endsWith('*');
  return { text: is_prefix ? written.slice(0, -1) : written, is_prefix };
}

/** Returns true if the name matches. */
export function matches({ text, is_prefix }: NamePattern, name: string): boolean {
  return is_prefix ? name.startsWith(text) : name === text;
}
