import type { Fields } from '../../platform/fields.ts';

/** Something that a source has and that is not moved, and what to do instead. */
export type LeftBehind = { what: string; why: string };

/** A project of a source, as a configuration has it, and its id there. */
export type FoundProject = { id: string; name: string; fields: Fields };

/**
 * An organization of a source: the sections of its configuration by key, and whom to invite.
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

/** The events of a name on a day. `unique`: without those whose uuid repeats. */
export type DayCount = { day: string; event: string; rows: number; unique: number };

/** A range of days, from midnight to midnight in UTC; the last one is exclusive. */
export type Days = { from: string; to: string };

/** A source of a move. Sources whose API has no events lack the last two. */
export type MoveSource = {
  title: string;
  read(): Promise<FoundOrganization[]>;
  /** Writes the events of a range as lines, in pieces. */
  events?(project: FoundProject, days: Days): AsyncIterable<string | Buffer>;
  counts?(project: FoundProject, days: Days): Promise<DayCount[]>;
};

/** Gives each name a key that no other has: lower-case letters, digits and underscores. */
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

/** A reference to a variable that keys and a field name. */
export function secretReference(...parts: string[]): { env: string } {
  const name = parts
    .join('_')
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_');
  return { env: name.replace(/^(?=\d)/, '_') };
}

/** The document of an organization, as `sluice config` takes it. */
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

/** The variables that a document refers to, each once. */
export function variablesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { env } = value as { env?: unknown };
  if (typeof env === 'string' && Object.keys(value).length === 1) return [env];
  return [...new Set(Object.values(value).flatMap(variablesOf))];
}
