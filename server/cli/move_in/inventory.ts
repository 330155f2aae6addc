import type { Fields } from '../../platform/fields.ts';

/** Something in a source that is not moved, and what to do instead. */
export type LeftBehind = { what: string; why: string };

/** A project of a source in the form of a configuration, and its id there. */
export type FoundProject = { id: string; name: string; fields: Fields };

/**
 * An organization of a source: the sections of its configuration by key, and the people to invite.
 * Secrets are references to variables.
 */
export type FoundOrganization = {
  id: string;
  name: string;
  projects: Record<string, FoundProject>;
  plugins: Record<string, Fields>;
  people: { email: string; first_name: string; level: number }[];
  left: LeftBehind[];
};

/** The number of events with a name on a day. `unique` leaves out repeated uuids. */
export type DayCount = { day: string; event: string; rows: number; unique: number };

/** A range of days, from midnight to midnight in UTC; the last one is exclusive. */
export type Days = { from: string; to: string };

/** A source to move from. The last two functions are missing if the source's API has no events. */
export type MoveSource = {
  title: string;
  read(): Promise<FoundOrganization[]>;
  /** Writes the events of a range as lines, in pieces. */
  events?(project: FoundProject, days: Days): AsyncIterable<string | Buffer>;
  counts?(project: FoundProject, days: Days): Promise<DayCount[]>;
};

/**
 * Returns a function that gives each name a unique key: lower-case letters, digits and underscores.
 */
export function openKeys(): (name: string) => string {
  const taken = new Set<string>();
  return (name) => {
    const plain =
      name
        .normalize('NFKD')
        .toLowerCase()
        .replaceAll(/[^a-z0-9]+/g, '_')
        .replaceAll(/^_+|_+$/g, '')
        .slice(0, 60) || 'unnamed';
    let key = plain;
    for (let number = 2; taken.has(key); number += 1) key = `${plain}_${number}`;
    taken.add(key);
    return key;
  };
}

/** Returns a reference to a variable, made from keys and a field name. */
export function secretReference(...parts: string[]): { env: string } {
  const name = parts
    .join('_')
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_');
  return { env: name.replace(/^(?=\d)/, '_') };
}

/** Returns the document of an organization, in the form of `sluice config`. */
export function documentOf({ projects, plugins, people }: FoundOrganization): Fields {
  const keys = openKeys();
  const invites = people.map(({ email, first_name, level }) => [
    keys(email),
    { target_email: email, ...(first_name === '' ? {} : { first_name }), level },
  ]);
  return {
    projects: Object.fromEntries(
      Object.entries(projects).map(([key, { name, fields }]) => [key, { name, ...fields }]),
    ),
    ...(Object.keys(plugins).length === 0 ? {} : { plugins }),
    ...(invites.length === 0 ? {} : { invites: Object.fromEntries(invites) as Fields }),
  };
}

/** Returns the variables that a document refers to, each once. */
export function variablesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { env } = value as { env?: unknown };
  if (typeof env === 'string' && Object.keys(value).length === 1) return [env];
  return [...new Set(Object.values(value).flatMap(variablesOf))];
}
