// Length: what the files want and what stands are read by one list of kinds, into objects that have
// the same keys and paths. Apart, each half would explain the other.
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type { Deps } from '../../deps.ts';
import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import { checked } from '../../platform/http/bodies/validator.ts';
import { satisfying } from '../../platform/http/caller/scopes.ts';
import type { Scope } from '../../platform/http/caller/scopes.ts';
import { ApiError, forbidden } from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { mapInTurns } from '../../platform/pacing/turns.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { KindName } from '../managed/schema.ts';
import { kinds } from './kinds/index.ts';
import type { Kind, Standing } from './kinds/kind.ts';
import type { PlanRequest } from './schema.ts';
import { partSecrets } from './secret_values.ts';
import type { SecretWanted } from './secret_values.ts';
import { listManaged } from './store.ts';
import type { Managed } from './store.ts';

/** An object in the files. */
export type Wanted = {
  kind: Kind;
  key: string;
  /** Its path, with dots: `projects.web.batch_exports.s3`. */
  path: string;
  /** The path of the project; empty in the organization. */
  parent_path: string;
  /** Its former key. */
  was: string | undefined;
  /** The fields in the files; references are keys. */
  fields: Fields;
  secrets: Record<string, SecretWanted>;
  /** True if it only lists sections: the project must exist, and stays unchanged. */
  is_reference: boolean;
  /** True if its form is invalid: its fields stay as sent, and it has no step. */
  is_faulty: boolean;
};

/**
 * A parsed configuration. `sections` are the paths of requested sections that it has; `left_out`
 * are its other sections.
 */
export type Configuration = {
  objects: Wanted[];
  sections: ReadonlySet<string>;
  left_out: string[];
  violations: Violation[];
};

/** An existing object, with its key and path, or those it would get. */
export type Placed = Standing & {
  kind: Kind;
  key: string;
  path: string;
  /** The fields that a configuration last applied; undefined if none manages it. */
  managed: Managed | undefined;
};

/** The current state of an organization. */
export type State = {
  objects: Placed[];
  /** Bindings of deleted objects. */
  gone: Managed[];
};

/** The source of a plan. */
export type Source = { name: string; commit: string | null };

/** Returns the HMAC of an object's secret, as text. */
export type Fingerprint = (kind: Kind, id: string, path: string, value: unknown) => string;

/** The parsed request of a plan, and the current state. */
export type Read = {
  configuration: Configuration;
  state: State;
  source: Source;
  fingerprint: Fingerprint;
};

/**
 * Reads a configuration, and the existing objects of its kinds; changes nothing. Throws 403 for a
 * kind that the caller's key may not read.
 */
export async function read(
  deps: Deps,
  db: Queryable,
  who: { organization_id: string; scopes: readonly string[] },
  asked: PlanRequest,
): Promise<Read> {
  const sent = readConfiguration(asked.configuration, asked.people ?? false);
  const names = new Set<KindName>(sent.objects.map(({ kind }) => kind.name));
  for (const kind of kindsOfSections(sent)) names.add(kind);
  const needed = kindsNeeded(names);
  refuseUnreadable(needed, who.scopes);
  const read_kinds = asked.prune === true ? withWhatLiesIn(needed) : needed;
  const state = await readState(deps, db, who.organization_id, read_kinds);
  return {
    configuration: { ...sent, objects: withoutAccepted(sent.objects, state) },
    state,
    source: sourceOf(asked),
    fingerprint: fingerprintBy(deps),
  };
}

/** Returns the source that a request names. */
function sourceOf({ source }: PlanRequest): Source {
  return { name: source?.name ?? 'default', commit: source?.commit ?? null };
}

/** Deleting a project also deletes its content, whose kinds may be missing in the files. */
function withWhatLiesIn(needed: readonly Kind[]): Kind[] {
  const names = new Set(needed.map(({ name }) => name));
  const inside = kinds.filter(({ parent }) => parent !== undefined && names.has(parent));
  return kindsNeeded(new Set([...names, ...inside.map(({ name }) => name)]));
}

/** Throws 403 for a kind that a key with these scopes may not read. */
export function refuseUnreadable(wanted: readonly Kind[], scopes: readonly string[]): void {
  const unreadable = wanted.filter((kind) => !mayRead(kind, scopes));
  const lacking = [...new Set(unreadable.map(({ right }) => `${right}:read`))];
  if (lacking.length > 0)
    throw forbidden(
      `The API key lacks the scope${lacking.length === 1 ? '' : 's'} ${lacking.join(', ')}.`,
      'scope',
    );
}

/** Returns true if a key with these scopes may read objects of the kind. */
export function mayRead({ right }: Kind, scopes: readonly string[]): boolean {
  const accepted = satisfying(`${right}:read` as Scope);
  return scopes.some((scope) => accepted.has(scope));
}

/** Returns the HMAC under the server's key, which compares secrets without revealing them. */
export function fingerprintBy({ secrets }: Pick<Deps, 'secrets'>): Fingerprint {
  return (kind, id, path, value) =>
    secrets
      .hash(`configuration secret ${JSON.stringify([kind.name, id, path, value])}`)
      .toString('hex');
}

/** An invite of an existing member is complete. */
function withoutAccepted(objects: Wanted[], { objects: standing }: State): Wanted[] {
  const addresses = new Set(
    standing.flatMap(({ kind, fields }) => (kind.name === 'member' ? [fields['email']] : [])),
  );
  return objects.filter(
    ({ kind, fields }) => kind.name !== 'invite' || !addresses.has(fields['target_email']),
  );
}

function kindsOfSections({ sections }: Configuration): KindName[] {
  const last = new Set([...sections].map((path) => path.split('.').at(-1)));
  return kinds.filter(({ section }) => last.has(section)).map(({ name }) => name);
}

const key_form = /^[a-z0-9]+(?:[_-][a-z0-9]+)*$/;
const key_length_max = 100;

/** Returns the path as a name in violations. */
export function attrOfPath(path: string, field = ''): string {
  return ['configuration', ...path.split('.'), ...field.split('.')]
    .filter((step) => step !== '')
    .join('__');
}

/**
 * Reads a configuration into its objects, parents before their content. Every fault of form becomes
 * a violation, and its object is marked. `people` are left out unless wanted.
 */
function readConfiguration(sent: unknown, people: boolean): Configuration {
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
  // In YAML, a section without entries is null.
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

/** The facts of an entry that is no object. */
const faulty_object = {
  was: undefined,
  fields: {},
  secrets: {},
  is_reference: false,
  is_faulty: true,
};

/** Checks the fields by the schema; the route checks the values of secrets. */
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

/** Returns the schema without room for unknown fields. */
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

/**
 * Reads the existing objects of the wanted kinds. Guarantee: every object has a unique key in its
 * collection. An object without a configuration gets one made from its name, the same each time.
 */
export async function readState(
  deps: Deps,
  db: Queryable,
  organization_id: string,
  wanted: readonly Kind[],
): Promise<State> {
  const managed = await listManaged(db, organization_id);
  const by_id = new Map(managed.map((one) => [`${one.kind} ${one.object_id}`, one]));
  const objects: Placed[] = [];
  const paths = new Map<string, string>();
  for (const kind of wanted) {
    const found = await kind.read({ deps, db, organization_id });
    const placed = await mapInTurns(withKeys(kind, found, by_id), (one) => {
      const path = [paths.get(one.parent_id), kind.section, one.key].filter(
        (step) => step !== undefined && step !== '',
      );
      return { ...one, path: path.join('.') };
    });
    if (kind.name === 'project') for (const { id, path } of placed) paths.set(id, path);
    for (const one of placed) objects.push(one);
  }
  const ids = new Set(objects.map(({ kind, id }) => `${kind.name} ${id}`));
  const names = new Set(wanted.map(({ name }) => name));
  const gone = managed.filter(
    (one) => names.has(one.kind) && !ids.has(`${one.kind} ${one.object_id}`),
  );
  return { objects: await referring(objects), gone };
}

/**
 * Returns the kinds that a plan has to read: the kinds of the objects and the kinds that they need.
 */
export function kindsNeeded(names: ReadonlySet<KindName>): Kind[] {
  const needed = new Set(names);
  for (const kind of kinds) {
    if (!needed.has(kind.name)) continue;
    if (kind.parent !== undefined) needed.add(kind.parent);
    for (const reference of kind.references) needed.add(reference.kind);
    for (const other of kind.needs) needed.add(other);
  }
  return kinds.filter(({ name }) => needed.has(name));
}

function withKeys(
  kind: Kind,
  found: Standing[],
  managed: ReadonlyMap<string, Managed>,
): Omit<Placed, 'path'>[] {
  const taken = new Set<string>();
  const bound = found.map((one) => managed.get(`${kind.name} ${one.id}`));
  found.forEach((one, at) => {
    if (bound[at] !== undefined) taken.add(`${one.parent_id} ${bound[at].key}`);
  });
  return found.map((one, at) => {
    const of = bound[at];
    if (of !== undefined || kind.is_single)
      return { ...one, kind, key: of?.key ?? '', managed: of };
    const first = keyOf(kind.nameOf(one), kind.name);
    let key = first;
    for (let number = 2; taken.has(`${one.parent_id} ${key}`); number += 1)
      key = `${first}_${number}`;
    taken.add(`${one.parent_id} ${key}`);
    return { ...one, kind, key, managed: undefined };
  });
}

/** Returns a key made of a name's letters and digits. */
function keyOf(name: string, otherwise: string): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .slice(0, 80)
    .replaceAll(/^_+|_+$/g, '');
  return plain === '' ? otherwise : plain;
}

/** Returns the objects with keys in place of the API's ids. */
function referring(objects: Placed[]): Promise<Placed[]> {
  const keys = new Map(objects.map(({ kind, id, key }) => [`${kind.name} ${id}`, key]));
  return mapInTurns(objects, (one) => {
    if (one.kind.references.length === 0) return one;
    const fields: Fields = { ...one.fields };
    for (const { field, api_field, kind } of one.kind.references) {
      const keyed = (id: unknown) => keys.get(`${kind} ${String(id)}`) ?? id;
      const ids = fields[api_field];
      delete fields[api_field];
      fields[field] = Array.isArray(ids) ? ids.map(keyed) : ids === null ? null : keyed(ids);
    }
    return { ...one, fields };
  });
}
