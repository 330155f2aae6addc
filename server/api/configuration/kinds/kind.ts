import type { TObject } from 'typebox';
import type { Deps } from '../../../deps.ts';
import type { Fields } from '../../../platform/fields.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { KindName } from '../../managed/schema.ts';

/** A field with keys of other objects, for which the API has ids. */
export type Reference = {
  /** Name of the field in files, and in the API. */
  field: string;
  api_field: string;
  kind: KindName;
  /** Place of the object: in the same project or in the organization. */
  within: 'project' | 'organization';
  is_list: boolean;
};

/**
 * An existing object. `fields` have the API's names, without secrets. Secrets are separate, by
 * their path, in memory only.
 */
export type Standing = {
  id: string;
  /** The id of the project; empty in the organization. */
  parent_id: string;
  name: string | null;
  fields: Fields;
  secrets: Fields;
};

/** Access to the current state. */
export type Reading = { deps: Deps; db: Queryable; organization_id: string };

/**
 * A request to a route of the API. When an object is created, `:id` in later requests stands for
 * the id from the first answer.
 */
export type Request = { method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'; url: string; body: Fields };

/** The place of an object. */
export type Home = { organization_id: string; parent_id: string };

/** Everything that configurations need to know of one kind of object. */
export type Kind = {
  name: KindName;
  /** The key of its section, in a project or in the organization. */
  section: string;
  parent: 'project' | undefined;
  /** The object of its read and write scopes. */
  right: string;
  /** True if there is only one, without a key. */
  is_single: boolean;
  /** True if it is read only on request. */
  is_people: boolean;
  /** The fields in files, with references. */
  schema: TObject;
  references: readonly Reference[];
  /** Other kinds that must be read to check it. */
  needs: readonly KindName[];
  /** A field with a unique value, by which an object is also found. */
  identity: string | undefined;
  /** Fields that cannot change after creation. */
  fixed: readonly string[];
  /** Defaults of fields; a pull leaves out such fields. */
  defaults: Fields;
  /** Returns the paths of secret fields. */
  secretPaths(fields: Fields): string[];
  /** Returns true if the text of a file may be at a path that is no secret. */
  takesTextAt(path: string): boolean;
  /** Returns true if a path may hold a secret although the server does not know its field yet. */
  maySealAt(path: string): boolean;
  /** Returns the fields in their stored spelling, if it is known. */
  spelled(fields: Fields): Fields;
  /** Returns the fields without defaults, as a pull writes them. */
  shortened(fields: Fields): Fields;
  /** Lists all existing objects, oldest first. */
  read(reading: Reading): Promise<Standing[]>;
  /** Returns the URL of the list; the URL of a record appends its id. */
  listUrl(home: Home, fields: Fields): string;
  /**
   * Returns the requests that create it (none: no configuration can), change it (with all wanted
   * fields) and delete it.
   */
  create(home: Home, fields: Fields): Request[];
  change(home: Home, standing: Standing, fields: Fields): Request[];
  remove(home: Home, standing: Standing): Request;
  /** Returns the faults of the created or changed object that its routes do not report. */
  faultAfter(db: Queryable, id: string, fields: Fields): Promise<Violation | undefined>;
  /** Returns the text from which a missing key is made. */
  nameOf(standing: Standing): string;
  /** Returns the scope in the activity log for the kind, and the name of a field there. */
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
  // A change leaves out the fields that cannot change after creation.
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

/** Returns the address of an existing object. */
export function recordUrl(kind: Kind, home: Home, { id, fields }: Standing): string {
  return `${kind.listUrl(home, fields)}${id}/`;
}

/** Returns the named fields of a record. */
export function pick(record: object, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(record).filter(([name]) => names.includes(name)));
}
