import type { Deps } from '../../deps.ts';
import type { Fields } from '../../platform/fields.ts';
import { mapInTurns } from '../../platform/pacing/turns.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { kinds } from './kinds/index.ts';
import type { Kind, Standing } from './kinds/kind.ts';
import type { KindName } from '../managed/schema.ts';
import { listManaged } from './store.ts';
import type { Managed } from './store.ts';

/** An object that stands, with the key and path that it has or would have. */
export type Placed = Standing & {
  kind: Kind;
  key: string;
  path: string;
  /** What a configuration applied last; undefined while nobody manages it. */
  managed: Managed | undefined;
};

/** What stands in an organization. */
export type State = {
  objects: Placed[];
  /** Bindings whose object is gone. */
  gone: Managed[];
};

/**
 * Reads what stands of the wanted kinds. Guarantee: every object has a key that no other in its
 * collection has: its own, or while nobody manages it one made of its name, the same each time.
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

/** The kinds that a plan has to read for the objects of these kinds: they and what they need. */
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

/** A key made of a name: its letters and digits. */
function keyOf(name: string, otherwise: string): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .slice(0, 80)
    .replaceAll(/^_+|_+$/g, '');
  return plain === '' ? otherwise : plain;
}

/** The objects with keys where the API has ids of others. */
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
