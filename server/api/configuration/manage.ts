import { isDeepStrictEqual } from 'node:util';
import type { Deps } from '../../deps.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import type { CarriedOut } from './carry_out.ts';
import { pick } from './kinds/kind.ts';
import type { Looked } from './look.ts';
import { kindsNeeded, readState } from './standing.ts';
import type { Placed } from './standing.ts';
import { forgetManaged, keepManaged } from './store.ts';
import type { Managed } from './store.ts';
import type { Wanted } from './wanted.ts';

/**
 * Notes for each wanted object what was applied, read again as it stands now, and forgets what is
 * no more. Commit and instant are those of the last apply that changed the object.
 */
export async function manageApplied(
  deps: Deps,
  tx: Transaction,
  organization_id: string,
  { configuration, source, fingerprint, judged }: Looked,
  { steps, ids }: CarriedOut,
  applied_at: string,
): Promise<void> {
  const names = new Set(configuration.objects.map(({ kind }) => kind.name));
  const { objects } = await readState(deps, tx, organization_id, kindsNeeded(names));
  const by_id = new Map(objects.map((one) => [`${one.kind.name} ${one.id}`, one]));
  const changed = new Set(steps.map(({ wanted }) => wanted));
  const rows = configuration.objects.flatMap((wanted): Managed[] => {
    if (wanted.is_reference) return [];
    const standing = by_id.get(`${wanted.kind.name} ${ids.get(wanted.path)}`);
    if (standing === undefined) return [];
    const before = standing.managed;
    const isChanged = changed.has(wanted) || before === undefined;
    const row: Managed = {
      kind: wanted.kind.name,
      object_id: standing.id,
      parent_id: standing.parent_id,
      key: wanted.key,
      source: source.name,
      commit_id: isChanged ? source.commit : before.commit_id,
      ...appliedOf(wanted, standing, (path, value) =>
        fingerprint(wanted.kind, standing.id, path, value),
      ),
      applied_at: isChanged ? applied_at : before.applied_at,
    };
    return isDeepStrictEqual(row, before) ? [] : [row];
  });
  await keepManaged(tx, organization_id, rows);
  const deleted = steps.flatMap(({ action, kind, id }) =>
    action === 'delete' ? [{ kind, object_id: id! }] : [],
  );
  const gone = judged.gone.map(({ managed }) => managed);
  await forgetManaged(tx, organization_id, [...deleted, ...gone]);
}

function appliedOf(
  wanted: Wanted,
  standing: Placed,
  hash: (path: string, value: unknown) => string,
): Pick<Managed, 'fields' | 'secrets'> {
  const secrets = Object.keys(wanted.secrets).flatMap((path) =>
    standing.secrets[path] === undefined ? [] : [[path, hash(path, standing.secrets[path])]],
  );
  return {
    fields: pick(standing.fields, Object.keys(wanted.fields)),
    secrets: Object.fromEntries(secrets) as Record<string, string>,
  };
}
