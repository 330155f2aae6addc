import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import { ApiError } from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { checked } from '../../platform/http/bodies/validator.ts';
import { kinds } from './kinds/index.ts';
import type { Kind } from './kinds/kind.ts';
import { partSecrets } from './secret_values.ts';
import type { SecretWanted } from './secret_values.ts';

/** An object as the files want it. */
export type Wanted = {
  kind: Kind;
  key: string;
  /** Where it stands, with dots: `projects.web.batch_exports.s3`. */
  path: string;
  /** The path of the project; empty in the organization. */
  parent_path: string;
  /** The key that it had. */
  was: string | undefined;
  /** The fields that the files name; references are keys. */
  fields: Fields;
  secrets: Record<string, SecretWanted>;
  /** Whether only sections are named: the project has to stand, and is left as it is. */
  is_reference: boolean;
  /** Whether its form is wrong: its fields are as they were sent, and nothing is done with it. */
  is_faulty: boolean;
};

/**
 * A configuration as it was read; `sections` are the paths of those that it has and that were
 * wanted, `left_out` of those that were not.
 */
export type Configuration = {
  objects: Wanted[];
  sections: ReadonlySet<string>;
  left_out: string[];
  violations: Violation[];
};

const key_form = /^[a-z0-9]+(?:[_-][a-z0-9]+)*$/;
const key_length_max = 100;

/** The name of a path among violations. */
export function attrOfPath(path: string, field = ''): string {
  return ['configuration', ...path.split('.'), ...field.split('.')]
    .filter((step) => step !== '')
    .join('__');
}

/**
 * Reads a configuration into its objects, parents before what lies in them. Every fault of form is
 * among the violations; an object that has one is marked. `people` are left out unless wanted.
 */
export function readConfiguration(sent: unknown, people: boolean): Configuration {
  const read: Configuration & { sections: Set<string> } = {
    objects: [],
    sections: new Set(),
    left_out: [],
    violations: [],
  };
  const known = kinds.filter((kind) => kind.parent === undefined);
  if (!isFields(sent)) refuse(read, '', 'invalid_input', 'Must be an object.');
  else {
    refuseUnknown(read, sent, '', known);
    for (const kind of known)
      if (!kind.is_people || people) readSection(read, kind, sent[kind.section], '');
      else if (sent[kind.section] !== undefined) read.left_out.push(kind.section);
  }
  const order = kinds.map(({ name }) => name);
  read.objects.sort((one, other) => order.indexOf(one.kind.name) - order.indexOf(other.kind.name));
  return read;
}

type Reading = Configuration & { sections: Set<string> };

function readSection(read: Reading, kind: Kind, section: unknown, parent_path: string): void {
  if (section === undefined) return;
  const path = parent_path === '' ? kind.section : `${parent_path}.${kind.section}`;
  read.sections.add(path);
  if (kind.is_single) return readObject(read, kind, { key: '', path, parent_path }, section);
  // A section whose last entry was taken out is null in YAML.
  if (section === null) return;
  if (!isFields(section))
    return refuse(read, path, 'invalid_input', 'Must be an object whose names are keys.');
  for (const [key, object] of Object.entries(section)) {
    if (key_form.test(key) && key.length <= key_length_max)
      readObject(read, kind, { key, path: `${path}.${key}`, parent_path }, object);
    else
      refuse(
        read,
        `${path}.${key}`,
        'invalid_input',
        'A key has lower-case letters and digits, with single hyphens or underscores between ' +
          `them, and up to ${key_length_max} characters.`,
      );
  }
}

type Place = Pick<Wanted, 'key' | 'path' | 'parent_path'>;

function readObject(read: Reading, kind: Kind, place: Place, object: unknown): void {
  const { path } = place;
  const faults_before = read.violations.length;
  if (!isFields(object)) {
    refuse(read, path, 'invalid_input', 'Must be an object.');
    read.objects.push({ ...faulty_object, kind, ...place });
    return;
  }
  const inside = kind.name === 'project' ? kinds.filter((one) => one.parent === 'project') : [];
  const { was, ...rest } = object;
  if (was !== undefined && (typeof was !== 'string' || !key_form.test(was) || kind.is_single))
    refuse(read, path, 'invalid_input', 'Must be the key that the object had.', 'was');
  const own = Object.entries(rest).filter(([name]) => !inside.some((one) => one.section === name));
  const is_reference = own.length === 0 && was === undefined && Object.keys(rest).length > 0;
  const parted = partSecrets(kind, Object.fromEntries(own), attrOfPath(path));
  read.violations.push(...parted.violations);
  const fields = is_reference ? {} : checkedFields(read, kind, path, parted.fields, parted.secrets);
  const is_faulty = read.violations.length > faults_before;
  read.objects.push({
    kind,
    ...place,
    was: typeof was === 'string' ? was : undefined,
    fields: is_faulty ? parted.fields : kind.spelled(fields),
    secrets: parted.secrets,
    is_reference,
    is_faulty,
  });
  for (const one of inside) readSection(read, one, rest[one.section], path);
}

/** What is known of an object that is none. */
const faulty_object = {
  was: undefined,
  fields: {},
  secrets: {},
  is_reference: false,
  is_faulty: true,
};

/** The fields as the schema takes them; what a secret stands for is checked by the route. */
function checkedFields(
  read: Reading,
  kind: Kind,
  path: string,
  fields: Fields,
  secrets: Record<string, SecretWanted>,
): Fields {
  try {
    const pointer = `/configuration/${path.replaceAll('.', '/')}`;
    return checked(closed(kind.schema), fields, pointer) as Fields;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const given = new Set(Object.keys(secrets).map((secret) => attrOfPath(path, secret)));
    const left = error.violations.filter(({ attr }) => attr === null || !given.has(attr));
    read.violations.push(...left);
    return fields;
  }
}

const closed_schemas = new WeakMap<TSchema, TSchema>();

/** The schema without room for fields that it does not name. */
function closed(schema: TSchema): TSchema {
  const known = closed_schemas.get(schema);
  if (known !== undefined) return known;
  const created = closedIn(schema);
  closed_schemas.set(schema, created);
  return created;
}

function closedIn(schema: TSchema): TSchema {
  const { properties, additionalProperties } = schema as {
    properties?: Record<string, TSchema>;
    additionalProperties?: unknown;
  };
  if (properties === undefined || additionalProperties !== undefined) return schema;
  const inner = Object.entries(properties).map(([name, one]) => [name, closedIn(one)]);
  return Type.Unsafe({
    ...schema,
    properties: Object.fromEntries(inner) as Record<string, TSchema>,
    additionalProperties: false,
  });
}

function refuseUnknown(read: Reading, sent: Fields, path: string, known: Kind[]): void {
  for (const name of Object.keys(sent))
    if (!known.some(({ section }) => section === name))
      refuse(
        read,
        path,
        'unknown_field',
        `There is no such section: there are ${known.map(({ section }) => section).join(', ')}.`,
        name,
      );
}

function refuse(
  read: Reading,
  path: string,
  code: Violation['code'],
  detail: string,
  field = '',
): void {
  read.violations.push({ attr: attrOfPath(path, field), code, detail });
}
