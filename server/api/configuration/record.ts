import { isDeepStrictEqual } from 'node:util';
import type { FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { appendActivity } from '../../platform/activity/chain.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { isoInstant } from '../../platform/clock.ts';
import { actorOf } from '../../platform/http/write.ts';
import type { RecordActivity } from '../../platform/http/write.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { summaryOf } from './carry_out.ts';
import type { CarriedOut } from './carry_out.ts';
import type { Compared } from './compare.ts';
import { pick } from './kinds/kind.ts';
import { kindsNeeded, readState } from './read.ts';
import type { Placed, Read, Source, Wanted } from './read.ts';
import type { Applied } from './schema.ts';
import { forgetManaged, keepManaged, markApplied } from './store.ts';
import type { Managed, StoredPlan } from './store.ts';

/**
 * Records the apply: an entry for each object that no route has recorded, the managed fields of
 * each wanted object, the applied plan, and an entry for the whole.
 */
export async function recordApplied(
  deps: Deps,
  request: FastifyRequest,
  { tx, record }: { tx: Transaction; record: RecordActivity },
  plan: Pick<StoredPlan, 'id' | 'hash'>,
  applied: { read: Read; compared: Compared; carried: CarriedOut },
): Promise<Pick<Applied, 'applied_at' | 'summary'>> {
  const { read, compared, carried } = applied;
  const { organization_id } = request.access;
  const applied_at = isoInstant(deps.clock.now());
  await recordRest(deps, request, tx, read, carried, plan.hash);
  await manageApplied(deps, tx, organization_id, read, compared, carried, applied_at);
  await markApplied(tx, plan.id, applied_at);
  const summary = summaryOf(carried.steps, read.configuration.objects);
  if (carried.steps.length === 0) record('nothing');
  else
    record({
      activity: 'applied',
      scope: 'configuration',
      item_id: plan.id,
      item_name: read.source.name,
      changes: changesOf(undefined, { ...read.source, plan: plan.hash, ...summary }),
    });
  return { applied_at, summary };
}

/** Returns the note about the source of an apply. */
export function noteOf(source: Source, hash: string, key: string) {
  const after = { key, source: source.name, commit: source.commit, plan: hash };
  return { field: 'managed_by', action: 'changed' as const, before: null, after };
}

/**
 * Adds entries for objects that were only adopted or got another key, because no route was called.
 */
async function recordRest(
  deps: Deps,
  request: FastifyRequest,
  tx: Transaction,
  { source }: Read,
  { steps }: CarriedOut,
  hash: string,
): Promise<void> {
  for (const { wanted, standing, is_recorded, action, name } of steps) {
    if (is_recorded || wanted === undefined || standing === undefined) continue;
    await appendActivity(
      tx,
      deps.secrets,
      { organization_id: request.access.organization_id },
      actorOf(request, undefined),
      {
        activity: action === 'move' ? 'moved' : 'adopted',
        scope: wanted.kind.activityScope(standing.fields),
        item_id: standing.id,
        item_name: name,
        changes: [noteOf(source, hash, wanted.key)],
      },
    );
  }
}

/**
 * Stores the applied fields of each wanted object, read again from the current state, and deletes
 * the bindings of deleted objects. Commit and time belong to the last apply that changed the
 * object.
 */
async function manageApplied(
  deps: Deps,
  tx: Transaction,
  organization_id: string,
  { configuration, source, fingerprint }: Read,
  { gone: deleted_by_hand }: Compared,
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
  const gone = deleted_by_hand.map(({ managed }) => managed);
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
