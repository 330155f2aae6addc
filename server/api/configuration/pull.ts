import { isDeepStrictEqual } from 'node:util';
import type { Deps } from '../../deps.ts';
import { isGivenSecret } from '../../engine/model/destination/stored_config.ts';
import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import { mapInTurns } from '../../platform/pacing/turns.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { KindName } from '../managed/schema.ts';
import { kinds } from './kinds/index.ts';
import { kindsNeeded, mayRead, readState, refuseUnreadable } from './read.ts';
import type { Placed } from './read.ts';
import { joinSecrets } from './secret_values.ts';

/** The current state in the form of files, with the variables of its secrets. */
export type Pulling = {
  configuration: Fields;
  secrets: { path: string; env: string }[];
};

/**
 * Returns the current state of an organization as a configuration, as far as a key with these
 * scopes may read it. Guarantee: a plan of it has only `adopt` steps, and it contains no secret.
 */
export async function pullConfiguration(
  deps: Deps,
  db: Queryable,
  who: { organization_id: string; scopes: readonly string[] },
  people: boolean,
): Promise<Pulling> {
  const readable = kinds.filter((kind) => mayRead(kind, who.scopes) && (people || !kind.is_people));
  const isInside = readable.some(({ name }) => name === 'project');
  const { objects } = await readState(
    deps,
    db,
    who.organization_id,
    readable.filter(({ parent }) => parent === undefined || isInside),
  );
  const pulling: Pulling = { configuration: {}, secrets: [] };
  const taken = new Set<string>();
  await mapInTurns(objects, (object) =>
    put(pulling.configuration, object, fileFields(object, pulling, taken)),
  );
  return pulling;
}

/**
 * Returns one object of an organization as a configuration; undefined if it does not exist. Throws
 * 403 if the key may not read the kind, or a kind that it refers to.
 */
export async function pullObject(
  deps: Deps,
  db: Queryable,
  who: { organization_id: string; scopes: readonly string[] },
  { kind, id }: { kind: KindName; id: string },
): Promise<Pulling | undefined> {
  const needed = kindsNeeded(new Set([kind]));
  refuseUnreadable(needed, who.scopes);
  const { objects } = await readState(deps, db, who.organization_id, needed);
  const found = objects.find((one) => one.kind.name === kind && one.id === id);
  if (found === undefined) return undefined;
  const pulling: Pulling = { configuration: {}, secrets: [] };
  put(pulling.configuration, found, fileFields(found, pulling, new Set()));
  return pulling;
}

/** Puts an object at its path, and creates missing sections. */
function put(configuration: Fields, { path }: Placed, fields: Fields): void {
  const steps = path.split('.');
  const last = steps.pop()!;
  let at = configuration;
  for (const step of steps) at = (at[step] ??= {}) as Fields;
  at[last] = fields;
}

/** Returns the fields without defaults, and with references for secrets. */
function fileFields(object: Placed, { secrets }: Pulling, taken: Set<string>): Fields {
  const { kind, managed } = object;
  // Sorted by name, because sealed secrets keep the order in which they were sent.
  const secrets_stored = Object.entries(object.secrets).toSorted(([one], [other]) =>
    one < other ? -1 : 1,
  );
  const given = secrets_stored.filter(([, value]) => isGivenSecret(value));
  const empty = secrets_stored.filter(([, value]) => !isGivenSecret(value));
  const fields = joinSecrets(object.fields, Object.fromEntries(empty));
  const references = given.map(([path, value]): [string, Fields] => {
    // A secret with several texts (the headers of requests) does not fit into one variable.
    if (isFields(value)) return [path, { keep: true }];
    const env = variableOf(object, path, taken);
    secrets.push({ path: `${object.path}.${path}`, env });
    return [path, { env }];
  });
  const all = joinSecrets(kind.shortened(fields), Object.fromEntries(references));
  const kept = Object.entries(all).filter(
    ([name, value]) =>
      value !== undefined &&
      ((managed !== undefined && Object.hasOwn(managed.fields, name)) ||
        !isDeepStrictEqual(value, kind.defaults[name])),
  );
  return Object.fromEntries(kept);
}

/** Returns a unique variable for a secret, made from keys and the field's name. */
function variableOf({ path }: Placed, field: string, taken: Set<string>): string {
  const sections = new Set(kinds.map(({ section }) => section));
  const steps = path.split('.').filter((step) => !sections.has(step));
  const plain = [...steps, field.split('.').at(-1)!]
    .join('_')
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    // No shell sets a variable whose name begins with a digit.
    .replace(/^(?=\d)/, '_');
  let name = plain;
  for (let number = 2; taken.has(name); number += 1) name = `${plain}_${number}`;
  taken.add(name);
  return name;
}
