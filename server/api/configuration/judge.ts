import { isDeepStrictEqual } from 'node:util';
import type { Violation } from '../../platform/http/errors.ts';
import { needsOf, notesOf } from './needs.ts';
import type { Need, Note } from './schema.ts';
import type { Placed, State } from './standing.ts';
import { candidateOf, driftOf, versionOf } from './steps.ts';
import type { Candidate, Drifted, Fingerprint, Pair } from './steps.ts';
import type { Managed } from './store.ts';
import { attrOfPath } from './wanted.ts';
import type { Configuration, Wanted } from './wanted.ts';

/** What a configuration means for what stands; nothing is asked or changed. */
export type Judged = {
  pairs: Pair[];
  candidates: Candidate[];
  drift: Drifted[];
  /** Wanted objects that were applied, and are gone. */
  gone: { wanted: Wanted; managed: Managed }[];
  /** What the source applied and no longer names. */
  left: Placed[];
  /** The same where another source applied something in it, which no prune of this one deletes. */
  held: { standing: Placed; other: Placed }[];
  needs: Need[];
  notes: Note[];
  violations: Violation[];
  /** The paths of what has a fault, of form or between objects: it is not tried. */
  faulty: ReadonlySet<string>;
  versions: Record<string, string>;
  /** The ids of what stands, by the path at which it is wanted or would be. */
  ids: Map<string, string>;
};

/** How a configuration is looked at. */
export type How = { source: string; fingerprint: Fingerprint };

/**
 * Finds for each wanted object what stands in its place, by its key, by the key that it had, or by
 * the key that its name would give; says what differs, what somebody else changed, what is missing
 * and what is wrong between objects.
 */
export function judge({ objects, sections }: Configuration, state: State, how: How): Judged {
  const pairs = pairsOf(objects, state.objects);
  const violations = [
    ...keyFaults(objects, pairs),
    ...referenceFaults(objects, pairs, state),
    ...pairs.flatMap(fixedFaults),
  ];
  const matched = new Set(pairs.map(({ standing }) => standing));
  const projects = projectPaths(pairs);
  const unnamed = state.objects.filter(
    (one) =>
      one.managed?.source === how.source &&
      !one.kind.is_single &&
      !matched.has(one) &&
      sections.has(sectionOf(one, projects) ?? ''),
  );
  const held = unnamed.flatMap((standing) => heldBy(standing, state, how.source));
  const left = unnamed.filter((one) => held.every(({ standing }) => standing !== one));
  return {
    pairs,
    candidates: pairs.flatMap((pair) =>
      pair.wanted.is_reference ? [] : (candidateOf(pair, how.source) ?? []),
    ),
    drift: pairs.flatMap((pair) => driftOf(pair, how.fingerprint) ?? []),
    gone: goneOf(pairs, state),
    left,
    held,
    needs: pairs.flatMap(needsOf),
    notes: pairs.flatMap((pair) => notesOf(pair, how.source)),
    violations,
    faulty: new Set([
      ...objects.filter(({ is_faulty }) => is_faulty).map(({ path }) => path),
      ...pathsOf(violations, objects),
    ]),
    versions: Object.fromEntries([
      ...pairs.map((pair) => [pair.wanted.path, versionOf(pair, how.fingerprint)]),
      ...left.map((standing) => [
        `- ${standing.path}`,
        versionOf({ wanted: undefined, standing }, how.fingerprint),
      ]),
    ]) as Record<string, string>,
    ids: idsOf(pairs, state, projects),
  };
}

/** A project that is no longer named, with the first object in it that another source applied. */
function heldBy(standing: Placed, { objects }: State, source: string): Judged['held'] {
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

/** A text that no other object has; undefined where none is known. */
function identityOf({ kind, fields }: Pick<Wanted, 'kind' | 'fields'>): string | undefined {
  const value = kind.identity === undefined ? undefined : fields[kind.identity];
  return typeof value === 'string' ? `${kind.name} ${value}` : undefined;
}

/** Two objects that claim the same one, and keys that go round in a circle. */
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
      detail: 'These keys go round in a circle: apply one of the changes first.',
    })),
  ];
}

/** Those from which `before` leads back to themselves; looks at each object once. */
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
                detail: `There is no ${other.replace('_', ' ')} with the key ${name} here.`,
              },
            ],
      );
    }),
  );
}

/** The paths of the objects at which something is wrong. */
function pathsOf(violations: Violation[], objects: Wanted[]): string[] {
  const by_attr = new Map(objects.map(({ path }) => [attrOfPath(path), path]));
  return violations.flatMap(({ attr }) => {
    const steps = (attr ?? '').split('__');
    while (steps.length > 0 && !by_attr.has(steps.join('__'))) steps.pop();
    return by_attr.get(steps.join('__')) ?? [];
  });
}

/** What cannot be created, and fields that stay as they were created. */
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
      detail: 'This stays as it was created: give the new object another key.',
    }));
}

/** Why no configuration can create it; undefined: it can. */
function uncreatable({ kind, key, fields, is_reference }: Wanted): string | undefined {
  if (is_reference)
    return (
      `There is no ${kind.name} with the key ${key} to refer to. To create it here, give its ` +
      'name; else apply the configuration that has it first.'
    );
  if (kind.name !== 'member') return undefined;
  return `${String(fields['email'])} is no member: an invite makes them one.`;
}

/** The path of each wanted project that stands, by its id. */
function projectPaths(pairs: Pair[]): Map<string, string> {
  return new Map(
    pairs.flatMap(({ wanted, standing }) =>
      standing?.kind.name === 'project' ? [[standing.id, wanted.path] as const] : [],
    ),
  );
}

/** The section that an object would stand in; undefined where its project is not wanted. */
function sectionOf(
  { kind, parent_id }: Placed,
  projects: ReadonlyMap<string, string>,
): string | undefined {
  if (kind.parent === undefined) return kind.section;
  const parent = projects.get(parent_id);
  return parent === undefined ? undefined : `${parent}.${kind.section}`;
}

function goneOf(pairs: Pair[], { gone }: State): Judged['gone'] {
  const parents = new Map(pairs.map(({ wanted, standing }) => [wanted.path, standing?.id]));
  const managed_by = new Map(gone.map((one) => [`${one.kind} ${one.parent_id} ${one.key}`, one]));
  return pairs.flatMap(({ wanted, standing }) => {
    const parent_id = parents.get(wanted.parent_path) ?? '';
    const managed = managed_by.get(`${wanted.kind.name} ${parent_id} ${wanted.key}`);
    return standing !== undefined || managed === undefined ? [] : [{ wanted, managed }];
  });
}
