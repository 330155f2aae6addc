import type { TObject } from 'typebox';
import type { Deps } from '../../../deps.ts';
import type { Fields } from '../../../platform/fields.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { KindName } from '../../managed/schema.ts';

/** A field whose values are keys of other objects where the API has their ids. */
export type Reference = {
  /** Name of the field in files, and in the API. */
  field: string;
  api_field: string;
  kind: KindName;
  /** The place of the object: beside this one, or in the organization. */
  within: 'project' | 'organization';
  is_list: boolean;
};

/**
 * An object as it stands. `fields` are named as in the API, without secrets; those stand beside,
 * whole, by their path in the fields: in memory only.
 */
export type Standing = {
  id: string;
  /** The id of the project; empty in the organization. */
  parent_id: string;
  name: string | null;
  fields: Fields;
  secrets: Fields;
};

/** The server's access to the current state. */
export type Reading = { deps: Deps; db: Queryable; organization_id: string };

/**
 * A request to a route of the API. In those that create an object, `:id` stands for the id that the
 * first one answered.
 */
export type Request = { method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'; url: string; body: Fields };

/** The place of an object. */
export type Home = { organization_id: string; parent_id: string };

/** One kind of object: all that a configuration has to know of it. */
export type Kind = {
  name: KindName;
  /** The key of its section, in the project or beside the projects. */
  section: string;
  parent: 'project' | undefined;
  /** The noun of the scopes that read and write it. */
  right: string;
  /** True if only one exists, without a key. */
  is_single: boolean;
  /** True if it is read only on request. */
  is_people: boolean;
  /** The fields in files, references included. */
  schema: TObject;
  references: readonly Reference[];
  /** Kinds that have to be read to judge it, besides those. */
  needs: readonly KindName[];
  /** The field of which there is one of each value, by which an object is found too. */
  identity: string | undefined;
  /** Fields that stay as they were created. */
  fixed: readonly string[];
  /** Default of a field; a pull leaves such fields out. */
  defaults: Fields;
  /** The paths of the fields that are secret. */
  secretPaths(fields: Fields): string[];
  /** Returns true if the text of a file may stand at a path that is no secret. */
  takesTextAt(path: string): boolean;
  /** Returns true if a secret may stand at a path whose field the server does not know yet. */
  maySealAt(path: string): boolean;
  /** The fields in the spelling in which they are stored, as far as that is known. */
  spelled(fields: Fields): Fields;
  /** The fields without what is so anyway, as a pull writes them. */
  shortened(fields: Fields): Fields;
  /** All that stand, the oldest first. */
  read(reading: Reading): Promise<Standing[]>;
  /** Returns the URL that lists and creates all of its kind; a record has its id behind it. */
  listUrl(home: Home, fields: Fields): string;
  /**
   * The requests that create it (none: no configuration can), change it (all wanted fields are
   * given) and delete it.
   */
  create(home: Home, fields: Fields): Request[];
  change(home: Home, standing: Standing, fields: Fields): Request[];
  remove(home: Home, standing: Standing): Request;
  /** Returns the faults of the created or changed object beyond those of the routes. */
  faultAfter(db: Queryable, id: string, fields: Fields): Promise<Violation | undefined>;
  /** Returns the source of a key that nobody has given. */
  nameOf(standing: Standing): string;
  /** Returns the activity log's name for the kind, and for a field of it. */
  activityScope(fields: Fields): string;
  recordedAs(field: string): string;
};

/** The common defaults of kinds. */
export const plain_kind = {
  activityScope(this: Kind) {
    return this.name;
  },
  recordedAs(this: Kind, field: string) {
    return this.references.find((one) => one.field === field)?.api_field ?? field;
  },
  create(this: Kind, home: Home, body: Fields): Request[] {
    return [{ method: 'POST', url: this.listUrl(home, body), body }];
  },
  // Fields that stay as they were created are no fields of a change.
  change(this: Kind, home: Home, standing: Standing, fields: Fields): Request[] {
    const entries = Object.entries(fields).filter(([name]) => !this.fixed.includes(name));
    const body = Object.fromEntries(entries);
    return [{ method: 'PATCH', url: recordUrl(this, home, standing), body }];
  },
  remove(this: Kind, home: Home, standing: Standing): Request {
    return { method: 'DELETE', url: recordUrl(this, home, standing), body: {} };
  },
  is_single: false,
  is_people: false,
  references: [],
  needs: [],
  identity: undefined,
  fixed: [],
  defaults: {},
  secretPaths: () => [],
  maySealAt: () => false,
  takesTextAt: () => false,
  spelled: (fields: Fields) => fields,
  shortened: (fields: Fields) => fields,
  faultAfter: async () => undefined,
  nameOf: ({ name, id }: Standing) => name ?? id,
} satisfies Partial<Kind>;

/** The address of an object that stands. */
export function recordUrl(kind: Kind, home: Home, { id, fields }: Standing): string {
  return `${kind.listUrl(home, fields)}${id}/`;
}

/** The fields of a schema, taken out of a record. */
export function pick(record: object, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(record).filter(([name]) => names.includes(name)));
}
