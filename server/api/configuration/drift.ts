import type { Queryable } from '../../platform/postgres/database.ts';
import type { Judged } from './judge.ts';
import type { Drift } from './schema.ts';
import { listLatestEntries } from './store.ts';

/** What was changed by hand, with who did it as the activity log has it. */
export async function driftShown(
  db: Queryable,
  organization_id: string,
  { drift, gone }: Pick<Judged, 'drift' | 'gone'>,
): Promise<Drift[]> {
  const found = [
    ...drift.map(({ wanted, standing, changes }) => ({
      scope: wanted.kind.activityScope(standing.fields),
      kind: wanted.kind.name,
      path: wanted.path,
      id: standing.id,
      name: standing.name,
      is_deleted: false,
      changes,
    })),
    ...gone.map(({ wanted, managed }) => ({
      scope: wanted.kind.activityScope(managed.fields),
      kind: wanted.kind.name,
      path: wanted.path,
      id: managed.object_id,
      name: null,
      is_deleted: true,
      changes: [],
    })),
  ];
  if (found.length === 0) return [];
  const entries = await listLatestEntries(
    db,
    organization_id,
    found.map(({ scope, id }) => ({ scope, item_id: id })),
  );
  const latest = new Map(entries.map((entry) => [`${entry.scope} ${entry.item_id}`, entry]));
  return found.map(({ scope, ...one }) => {
    const entry = latest.get(`${scope} ${one.id}`);
    const { user, key, at } = entry ?? {};
    return { ...one, by: at === undefined ? null : { user: user ?? null, key: key ?? null, at } };
  });
}
