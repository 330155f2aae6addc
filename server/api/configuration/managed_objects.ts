import { isDeepStrictEqual } from 'node:util';
import type { Deps } from '../../deps.ts';
import { changesOf, secretChange } from '../../platform/activity/changes.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { kinds } from './kinds/index.ts';
import { pick } from './kinds/kind.ts';
import type { Kind } from './kinds/kind.ts';
import { withActors } from './plan.ts';
import type { Changed } from './plan.ts';
import { fingerprintBy, mayRead, readState } from './read.ts';
import type { Fingerprint, Placed } from './read.ts';
import type { FieldChange, ManagedObject } from './schema.ts';
import type { Managed } from './store.ts';

/**
 * Lists the objects that configurations manage in an organization, as far as a key with these
 * scopes may read them. Each has its changes since the last apply, in the applied fields and
 * secrets.
 */
export async function listManagedObjects(
  deps: Deps,
  db: Queryable,
  who: { organization_id: string; scopes: readonly string[] },
): Promise<ManagedObject[]> {
  const readable = kinds.filter((kind) => mayRead(kind, who.scopes));
  const isInside = readable.some(({ name }) => name === 'project');
  const read = readable.filter(({ parent }) => parent === undefined || isInside);
  const { objects, gone } = await readState(deps, db, who.organization_id, read);
  const fingerprint = fingerprintBy(deps);
  const found = [
    ...objects.flatMap((standing) =>
      standing.managed === undefined
        ? []
        : [{ managed: standing.managed, drift: standingDrift(standing, fingerprint) }],
    ),
    ...gone.map((managed) => ({ managed, drift: goneDrift(read, managed) })),
  ];
  const drifted = found.map(({ drift }) => drift).filter(isDrift);
  const actors = new Map(
    (await withActors(db, who.organization_id, drifted)).map(({ kind, id, by }) => [
      `${kind} ${id}`,
      by,
    ]),
  );
  return found.map(({ managed, drift: { scope: _scope, ...drift } }) => ({
    ...drift,
    by: actors.get(`${drift.kind} ${drift.id}`) ?? null,
    key: managed.key,
    source: managed.source,
    commit: managed.commit_id,
    applied_at: managed.applied_at,
  }));
}

function isDrift({ is_deleted, changes }: Changed): boolean {
  return is_deleted || changes.length > 0;
}

function standingDrift(standing: Placed, fingerprint: Fingerprint): Changed {
  const { kind, id, name, path, fields, managed } = standing;
  return {
    scope: kind.activityScope(fields),
    kind: kind.name,
    path,
    id,
    name,
    is_deleted: false,
    changes: managed === undefined ? [] : changesSince(managed, standing, fingerprint),
  };
}

/** Lists the applied fields and secrets whose values have changed. */
function changesSince(
  managed: Managed,
  { kind, id, fields, secrets }: Placed,
  fingerprint: Fingerprint,
): FieldChange[] {
  const differing = Object.keys(managed.fields).filter(
    (name) => !isDeepStrictEqual(managed.fields[name], fields[name]),
  );
  return [
    ...changesOf(pick(managed.fields, differing), pick(fields, differing)),
    ...Object.entries(managed.secrets).flatMap(([path, applied]) => {
      const stands = secrets[path];
      if (stands === undefined) return [secretChange(path, 'deleted')];
      return fingerprint(kind, id, path, stands) === applied ? [] : [secretChange(path, 'changed')];
    }),
  ];
}

function goneDrift(read: readonly Kind[], managed: Managed): Changed {
  const kind = read.find(({ name }) => name === managed.kind)!;
  return {
    scope: kind.activityScope(managed.fields),
    kind: kind.name,
    path: [kind.section, managed.key].filter((step) => step !== '').join('.'),
    id: managed.object_id,
    name: null,
    is_deleted: true,
    changes: [],
  };
}
