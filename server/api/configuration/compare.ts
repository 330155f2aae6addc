// Length: one pass pairs what is wanted with what stands and says all of it: steps, drift, faults,
// needs and notes of the same pairs.
import { isDeepStrictEqual } from 'node:util';
import type { Deps } from '../../deps.ts';
import { isGivenSecret } from '../../engine/model/destination/stored_config.ts';
import { changesOf, secretChange } from '../../platform/activity/changes.ts';
import type { Fields } from '../../platform/fields.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { isInstant } from '../../platform/instant.ts';
import { attrOfPath } from './read.ts';
import type { Fingerprint, Placed, Read, State, Wanted } from './read.ts';
import type { FieldChange, Need, Note } from './schema.ts';
import type { SecretWanted } from './secret_values.ts';
import type { Managed } from './store.ts';

/** A wanted object and the existing object in its place. */
export type Pair = { wanted: Wanted; standing: Placed | undefined };

/** A step that one object may need; the route decides whether a difference is a change. */
export type Candidate = Pair & {
  action: 'create' | 'change' | 'move' | 'adopt';
  moved_from: string | null;
  /** The configuration that contains it. */
  source: string;
  /** True if fields or secrets differ from the current state. */
  differs: boolean;
  changes: FieldChange[];
};

/**
 * The changes made outside of the configuration since the last apply; a deleted object has no pair.
 */
export type Drifted = { wanted: Wanted; standing: Placed; changes: FieldChange[] };

/** The comparison of a configuration with the current state, without requests or changes. */
export type Compared = {
  pairs: Pair[];
  candidates: Candidate[];
  drift: Drifted[];
  /** Wanted objects that were applied, but no longer exist. */
  gone: { wanted: Wanted; managed: Managed }[];
  /** Objects that the source applied and no longer names. */
  left: Placed[];
  /** The same if another source manages something inside, so no prune of this source deletes it. */
  held: { standing: Placed; other: Placed }[];
  needs: Need[];
  notes: Note[];
  /** Every fault of form, and every fault between objects. */
  violations: Violation[];
  /** Paths of faulty objects, which are not tried. */
  faulty: ReadonlySet<string>;
  versions: Record<string, string>;
  /** Ids of existing objects, by the path at which they are wanted or would be. */
  ids: Map<string, string>;
};

/**
 * Finds the existing object for each wanted object: by its key, its former key, or the key that its
 * name would give. Reports differences, changes by others, missing objects, and faults between
 * objects.
 */
export function compare({
  configuration,
  state,
  source: { name: source },
  fingerprint,
}: Read): Compared {
  const { objects, sections } = configuration;
  const pairs = pairsOf(objects, state.objects);
  const between = [
    ...keyFaults(objects, pairs),
    ...referenceFaults(objects, pairs, state),
    ...pairs.flatMap(fixedFaults),
  ];
  const matched = new Set(pairs.map(({ standing }) => standing));
  const projects = projectPaths(pairs);
  const unnamed = state.objects.filter(
    (one) =>
      one.managed?.source === source &&
      !one.kind.is_single &&
      !matched.has(one) &&
      sections.has(sectionOf(one, projects) ?? ''),
  );
  const held = unnamed.flatMap((standing) => heldBy(standing, state, source));
  const left = unnamed.filter((one) => held.every(({ standing }) => standing !== one));
  return {
    pairs,
    candidates: pairs.flatMap((pair) =>
      pair.wanted.is_reference ? [] : (candidateOf(pair, source) ?? []),
    ),
    drift: pairs.flatMap((pair) => driftOf(pair, fingerprint) ?? []),
    gone: goneOf(pairs, state),
    left,
    held,
    needs: pairs.flatMap(needsOf),
    notes: pairs.flatMap((pair) => notesOf(pair, source)),
    violations: [...configuration.violations, ...between],
    faulty: new Set([
      ...objects.filter(({ is_faulty }) => is_faulty).map(({ path }) => path),
      ...pathsOf(between, objects),
    ]),
    versions: Object.fromEntries([
      ...pairs.map((pair) => [pair.wanted.path, versionOf(pair, fingerprint)]),
      ...left.map((standing) => [
        `- ${standing.path}`,
        versionOf({ wanted: undefined, standing }, fingerprint),
      ]),
    ]) as Record<string, string>,
    ids: idsOf(pairs, state, projects),
  };
}

/**
 * Returns a project that is no longer named, with the first object inside that another source
 * applied.
 */
function heldBy(standing: Placed, { objects }: State, source: string): Compared['held'] {
  const other = objects.find(
    ({ kind, parent_id, managed }) =>
      kind.parent === standing.kind.name &&
      parent_id === standing.id &&
      managed !== undefined &&
      managed.source !== source,
  );
  return other === undefined ? [] : [{ standing, other }];
}

function idsOf(
  pairs: Pair[],
  { objects }: State,
  projects: ReadonlyMap<string, string>,
): Map<string, string> {
  return new Map([
    ...objects.flatMap((one): [string, string][] => {
      const section = sectionOf(one, projects);
      return section === undefined ? [] : [[`${section}.${one.key}`, one.id]];
    }),
    ...pairs.flatMap(({ wanted, standing }): [string, string][] =>
      standing === undefined ? [] : [[wanted.path, standing.id]],
    ),
  ]);
}

function pairsOf(objects: Wanted[], standing: Placed[]): Pair[] {
  const by_key = new Map(
    standing.map((one) => [`${one.kind.name} ${one.parent_id} ${one.key}`, one]),
  );
  const by_identity = new Map(
    standing.flatMap((one) => {
      const identity = identityOf(one);
      return identity === undefined ? [] : [[identity, one] as const];
    }),
  );
  const projects = new Map<string, Placed>();
  return objects.map((wanted): Pair => {
    const parent = wanted.parent_path === '' ? undefined : projects.get(wanted.parent_path);
    if (wanted.parent_path !== '' && parent === undefined) return { wanted, standing: undefined };
    const find = (key: string) => by_key.get(`${wanted.kind.name} ${parent?.id ?? ''} ${key}`);
    const found =
      by_identity.get(identityOf(wanted) ?? '') ??
      find(wanted.key) ??
      (wanted.was === undefined ? undefined : find(wanted.was));
    if (wanted.kind.name === 'project' && found !== undefined) projects.set(wanted.path, found);
    return { wanted, standing: found };
  });
}

/** Returns a text that identifies the object; undefined if its identity is unknown. */
function identityOf({ kind, fields }: Pick<Wanted, 'kind' | 'fields'>): string | undefined {
  const value = kind.identity === undefined ? undefined : fields[kind.identity];
  return typeof value === 'string' ? `${kind.name} ${value}` : undefined;
}

/** Finds two objects that claim the same one, and cycles of keys. */
function keyFaults(objects: Wanted[], pairs: Pair[]): Violation[] {
  const claims = new Map<Placed, Wanted>();
  const twice = pairs.flatMap(({ wanted, standing }) => {
    const other = standing === undefined ? undefined : claims.get(standing);
    if (standing !== undefined && other === undefined) claims.set(standing, wanted);
    return other === undefined
      ? []
      : [
          {
            attr: attrOfPath(wanted.path, 'was'),
            code: 'unique' as const,
            detail: `${other.path} is the same object: an object has one key.`,
          },
        ];
  });
  const by_path = new Map(objects.map((one) => [one.path, one]));
  const before = (one: Wanted) =>
    one.was === undefined
      ? undefined
      : by_path.get(`${one.path.slice(0, -one.key.length)}${one.was}`);
  const circles = inCircles(objects, before);
  return [
    ...twice,
    ...circles.map(({ path }) => ({
      attr: attrOfPath(path, 'was'),
      code: 'invalid_input' as const,
      detail: 'These keys form a cycle: apply one of the changes first.',
    })),
  ];
}

/** Returns objects from which `before` leads back to themselves; visits each object once. */
function inCircles(objects: Wanted[], before: (one: Wanted) => Wanted | undefined): Wanted[] {
  const seen_from = new Map<Wanted, Wanted>();
  return objects.flatMap((first) => {
    let at: Wanted | undefined = first;
    for (; at !== undefined && !seen_from.has(at); at = before(at)) seen_from.set(at, first);
    if (at === undefined || seen_from.get(at) !== first) return [];
    const circle = [at];
    for (let one = before(at)!; one !== at; one = before(one)!) circle.push(one);
    return circle;
  });
}

function referenceFaults(objects: Wanted[], pairs: Pair[], state: State): Violation[] {
  const projects = projectPaths(pairs);
  const known = new Set([
    ...objects.map(({ kind, parent_path, key }) => `${kind.name} ${parent_path} ${key}`),
    ...state.objects.map(
      (one) => `${one.kind.name} ${projects.get(one.parent_id) ?? ''} ${one.key}`,
    ),
  ]);
  return objects.flatMap(({ kind, path, parent_path, fields }) =>
    kind.references.flatMap(({ field, kind: other, within, is_list }) => {
      const names = [fields[field] ?? []].flat();
      return names.flatMap((name, index): Violation[] =>
        typeof name !== 'string' ||
        known.has(`${other} ${within === 'project' ? parent_path : ''} ${name}`)
          ? []
          : [
              {
                attr: attrOfPath(path, is_list ? `${field}.${index}` : field),
                code: 'invalid_input',
                detail: `No ${other.replace('_', ' ')} has the key ${name}.`,
              },
            ],
      );
    }),
  );
}

/** Returns the paths of objects with violations. */
function pathsOf(violations: Violation[], objects: Wanted[]): string[] {
  const by_attr = new Map(objects.map(({ path }) => [attrOfPath(path), path]));
  return violations.flatMap(({ attr }) => {
    const steps = (attr ?? '').split('__');
    while (steps.length > 0 && !by_attr.has(steps.join('__'))) steps.pop();
    return by_attr.get(steps.join('__')) ?? [];
  });
}

/** Lists objects that cannot be created, and fields that cannot change. */
function fixedFaults({ wanted, standing }: Pair): Violation[] {
  const { kind, path, fields, is_faulty } = wanted;
  if (is_faulty) return [];
  if (standing === undefined) {
    const detail = uncreatable(wanted);
    return detail === undefined ? [] : [{ attr: attrOfPath(path), code: 'invalid_input', detail }];
  }
  return kind.fixed
    .filter((name) => Object.hasOwn(fields, name) && Object.hasOwn(standing.fields, name))
    .filter((name) => !isDeepStrictEqual(fields[name], standing.fields[name]))
    .map((name) => ({
      attr: attrOfPath(path, name),
      code: 'invalid_input',
      detail: 'This cannot change after creation. Give the new object another key.',
    }));
}

/** Returns why no configuration can create the object; undefined if one can. */
function uncreatable({ kind, key, fields, is_reference }: Wanted): string | undefined {
  if (is_reference)
    return (
      `No ${kind.name} has the key ${key}. To create it here, give its name. Otherwise apply ` +
      'the configuration that has it first.'
    );
  if (kind.name !== 'member') return undefined;
  return `${String(fields['email'])} is no member: an invite makes them one.`;
}

/** Returns the path of each wanted existing project, by its id. */
function projectPaths(pairs: Pair[]): Map<string, string> {
  return new Map(
    pairs.flatMap(({ wanted, standing }) =>
      standing?.kind.name === 'project' ? [[standing.id, wanted.path] as const] : [],
    ),
  );
}

/** Returns the section that an object would be in; undefined if its project is not wanted. */
function sectionOf(
  { kind, parent_id }: Placed,
  projects: ReadonlyMap<string, string>,
): string | undefined {
  if (kind.parent === undefined) return kind.section;
  const parent = projects.get(parent_id);
  return parent === undefined ? undefined : `${parent}.${kind.section}`;
}

function goneOf(pairs: Pair[], { gone }: State): Compared['gone'] {
  const parents = new Map(pairs.map(({ wanted, standing }) => [wanted.path, standing?.id]));
  const managed_by = new Map(gone.map((one) => [`${one.kind} ${one.parent_id} ${one.key}`, one]));
  return pairs.flatMap(({ wanted, standing }) => {
    const parent_id = parents.get(wanted.parent_path) ?? '';
    const managed = managed_by.get(`${wanted.kind.name} ${parent_id} ${wanted.key}`);
    return standing !== undefined || managed === undefined ? [] : [{ wanted, managed }];
  });
}

/**
 * Returns the versions of the objects that a plan compared, as HMACs, because they are stored in
 * clear beside the plan.
 */
export function versionsOf(
  { secrets }: Pick<Deps, 'secrets'>,
  { versions }: Compared,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(versions).map(([path, version]) => [
      path,
      secrets.hash(`configuration version ${version}`).toString('hex'),
    ]),
  );
}

/** Returns the step of a pair; undefined if there is none. */
export function candidateOf(pair: Pair, source: string): Candidate | undefined {
  const { wanted, standing } = pair;
  const base = { ...pair, source, moved_from: null };
  if (standing === undefined)
    return { ...base, action: 'create', differs: true, changes: creation(wanted) };
  const changes = differencesOf(wanted, standing);
  const differs = changes.length > 0;
  if (standing.managed !== undefined && standing.key !== wanted.key)
    return { ...base, action: 'move', moved_from: standing.path, differs, changes };
  if (standing.managed?.source !== source) return { ...base, action: 'adopt', differs, changes };
  return differs ? { ...base, action: 'change', differs, changes } : undefined;
}

/** Returns changes of others that the files would revert; undefined if there are none. */
export function driftOf({ wanted, standing }: Pair, fingerprint: Fingerprint): Drifted | undefined {
  const managed = standing?.managed;
  if (standing === undefined || managed === undefined) return undefined;
  const differing = Object.keys(wanted.fields).filter(
    (name) => Object.hasOwn(managed.fields, name) && !isSame(wanted, standing.fields, name),
  );
  const changes = changesOf(only(managed.fields, differing), only(standing.fields, differing));
  const secrets = Object.entries(wanted.secrets).flatMap(([path, secret]) => {
    const applied = managed.secrets[path];
    const stands = standing.secrets[path];
    if (applied === undefined || isSameSecret(secret, stands)) return [];
    return stands !== undefined && fingerprint(standing.kind, standing.id, path, stands) === applied
      ? []
      : [secretChange(path, stands === undefined ? 'deleted' : 'changed')];
  });
  const all = [...changes, ...secrets];
  return all.length === 0 ? undefined : { wanted, standing, changes: all };
}

/**
 * Returns a text that changes with every difference that the plan compared: the named fields of a
 * wanted object, all fields of one to delete.
 */
export function versionOf(
  { wanted, standing }: { wanted: Wanted | undefined; standing: Placed | undefined },
  fingerprint: Fingerprint,
): string {
  if (standing === undefined) return 'absent';
  const { kind, id, key, fields, secrets, managed } = standing;
  const named = wanted === undefined ? fields : only(fields, Object.keys(wanted.fields));
  const sealed = Object.entries(secrets).map(([path, value]) => [
    path,
    fingerprint(kind, id, path, value),
  ]);
  return JSON.stringify([id, key, managed?.source ?? null, named, sealed]);
}

/** Lists the wanted fields and secrets that differ from the current state. */
function differencesOf(wanted: Wanted, standing: Placed): FieldChange[] {
  const differing = Object.keys(wanted.fields).filter(
    (name) => !isSame(wanted, standing.fields, name),
  );
  return [
    ...changesOf(only(standing.fields, differing), only(wanted.fields, differing)),
    ...Object.entries(wanted.secrets).flatMap(([path, secret]) => {
      const stands = standing.secrets[path];
      if (isSameSecret(secret, stands)) return [];
      const [had, has] = [isGivenSecret(stands), 'value' in secret && isGivenSecret(secret.value)];
      return [secretChange(path, had ? (has ? 'changed' : 'deleted') : 'created')];
    }),
  ];
}

function creation({ fields, secrets }: Wanted): FieldChange[] {
  return [
    ...changesOf(undefined, fields),
    ...Object.entries(secrets)
      .filter(([, secret]) => !('value' in secret) || isGivenSecret(secret.value))
      .map(([path]) => secretChange(path, 'created')),
  ];
}

/** Returns true if a secret equals the current one; only a value can. */
function isSameSecret(secret: SecretWanted, stands: unknown): boolean {
  if (!('value' in secret)) return true;
  return isDeepStrictEqual(secret.value ?? undefined, stands ?? undefined);
}

/** Two spellings of one instant are equal. */
function isSame({ kind, fields }: Wanted, stands: Fields, name: string): boolean {
  const [one, other] = [fields[name], stands[name]];
  const { format } = (kind.schema.properties as Record<string, { format?: string }>)[name] ?? {};
  if (format === 'date-time' && [one, other].every(isInstantText))
    return Date.parse(one as string) === Date.parse(other as string);
  return isDeepStrictEqual(one, other);
}

function isInstantText(value: unknown): boolean {
  return typeof value === 'string' && isInstant(value);
}

function only(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(
    names.flatMap((name) => (Object.hasOwn(fields, name) ? [[name, fields[name]]] : [])),
  );
}

/**
 * Returns notes that people should read before the apply. A `was` may stay in the files after its
 * move: if neither key exists, it moved nothing. An object in two configurations belongs to the
 * last apply.
 */
function notesOf({ wanted, standing }: Pair, source: string): Note[] {
  const { kind, path, was, secrets, is_reference } = wanted;
  const other = standing?.managed?.source;
  const taken_over: Note[] =
    is_reference || other === undefined || other === source
      ? []
      : [{ code: 'taken_over', kind: kind.name, path, detail: takenOverDetail(kind.name, other) }];
  const moved_nothing: Note[] =
    was === undefined || standing !== undefined
      ? []
      : [
          {
            code: 'was_not_found',
            kind: kind.name,
            path: `${path}.was`,
            detail: `Nothing here has the key ${was}, so a new object is created: check it.`,
          },
        ];
  const plain = Object.entries(secrets).flatMap(([field, secret]): Note[] =>
    'value' in secret && secret.is_plain === true
      ? [
          {
            code: 'plain_secret',
            kind: kind.name,
            path: `${path}.${field}`,
            detail:
              'This is a secret in plain text, and everybody who reads the file can use it. ' +
              'Write { env: NAME } or { file: path } instead.',
          },
        ]
      : [],
  );
  return [...moved_nothing, ...taken_over, ...plain];
}

function takenOverDetail(kind: string, other: string): string {
  const stays =
    kind === 'project'
      ? 'list only its sections here, without its own fields.'
      : 'take it out of these files; its key can still be referred to.';
  const taken = `The configuration ${other} manages this, and this one takes it over.`;
  return `${taken} To leave it: ${stays}`;
}

/** Returns the missing secrets, without which nothing can be applied. */
function needsOf({ wanted, standing }: Pair): Need[] {
  return Object.entries(wanted.secrets).flatMap(([field, secret]): Need[] => {
    if ('value' in secret) return [];
    const isKept = 'keep' in secret;
    if (isKept && standing?.secrets[field] !== undefined) return [];
    return [
      {
        code: 'secret',
        kind: wanted.kind.name,
        path: `${wanted.path}.${field}`,
        reference: isKept ? null : secret.reference,
        detail: isKept
          ? 'No secret is stored that could be kept: give its value.'
          : `The secret is not set. Give a value for ${secret.reference}.`,
      },
    ];
  });
}
