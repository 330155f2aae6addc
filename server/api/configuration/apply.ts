import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import type { Deps } from '../../deps.ts';
import { requireDone } from '../../platform/http/inner/beforehand.ts';
import { ApiError, conflict, invalidMany, notFound } from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import type { Beforehand } from '../../platform/http/inner/inner_call.ts';
import { openInnerRequests } from '../../platform/http/inner/inner_requests.ts';
import { lockOutWriters } from '../../platform/http/confirm_access.ts';
import type { Afterwards, RecordActivity } from '../../platform/http/write.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { carryOut } from './carry_out.ts';
import type { CarriedOut } from './carry_out.ts';
import { compare, versionsOf } from './compare.ts';
import type { Compared } from './compare.ts';
import { attrOfPath, read } from './read.ts';
import { noteOf, recordApplied } from './record.ts';
import type { Applied, Need, PlanRequest } from './schema.ts';
import { findPlan, listLatestEntries, planContext } from './store.ts';
import type { StoredPlan } from './store.ts';

/** The transaction of an apply, and the work before it. */
export type Applying = {
  tx: Transaction;
  record: RecordActivity;
  afterwards: Afterwards;
  beforehand: Beforehand;
};

/**
 * Applies a plan completely or not. No other write of the organization runs meanwhile. Throws 404
 * for an unknown plan. Throws 409 for a plan that has expired, was applied, lacks something, or
 * whose objects have changed since (it names each). Throws 400 if a route refuses a step now.
 */
export async function applyPlan(
  deps: Deps,
  request: FastifyRequest,
  hash: string,
  { tx, record, afterwards, beforehand }: Applying,
): Promise<Applied> {
  const { organization_id } = request.access;
  await lockOutWriters(tx, organization_id);
  const plan = await getOpenPlan(deps, tx, organization_id, hash);
  const asked = JSON.parse(
    deps.secrets.open(plan.request_sealed, planContext(plan.id)),
  ) as PlanRequest;
  const who = { organization_id, scopes: request.caller.scopes };
  const wanted = await read(deps, tx, who, asked);
  const compared = compare(wanted);
  if (compared.violations.length > 0) throw invalidMany(compared.violations);
  await refuseMoved(deps, tx, organization_id, plan, compared);
  refuseLacking(compared.needs);
  const inner = openInnerRequests(request, tx, afterwards, beforehand, 'change');
  const carried = await carryOut(compared, {
    db: tx,
    inner,
    organization_id,
    prune: asked.prune ?? false,
    noteOf: (_path, key) => noteOf(wanted.source, hash, key),
  });
  requireDone(beforehand);
  if (carried.violations.length > 0) throw invalidMany(carried.violations);
  refuseLacking(carried.needs);
  const said = await recordApplied(deps, request, { tx, record }, plan, {
    read: wanted,
    compared,
    carried,
  });
  return { hash, source: wanted.source, ...said, ...shown(carried) };
}

async function getOpenPlan(
  deps: Deps,
  tx: Transaction,
  organization_id: string,
  hash: string,
): Promise<StoredPlan> {
  const plan = await findPlan(tx, organization_id, hash, sql`FOR UPDATE`);
  if (plan === undefined) throw notFound();
  if (plan.applied_at !== null)
    throw conflict(`This plan was already applied at ${plan.applied_at}: create a new one.`);
  if (Date.parse(plan.expires_at) <= deps.clock.now())
    throw conflict(`This plan expired at ${plan.expires_at}: create a new one.`);
  return plan;
}

/** Throws 409 that names each object that has changed since the plan, and who changed it. */
async function refuseMoved(
  deps: Deps,
  tx: Transaction,
  organization_id: string,
  { versions }: StoredPlan,
  compared: Compared,
): Promise<void> {
  const present = versionsOf(deps, compared);
  const paths = [...new Set([...Object.keys(versions), ...Object.keys(present)])];
  const moved = paths.filter((path) => versions[path] !== present[path]);
  if (moved.length === 0) return;
  const { pairs, left } = compared;
  const standing = moved.map((path) =>
    path.startsWith('- ')
      ? left.find((one) => `- ${one.path}` === path)
      : pairs.find(({ wanted }) => wanted.path === path)?.standing,
  );
  const items = standing.flatMap((one) =>
    one === undefined ? [] : [{ scope: one.kind.activityScope(one.fields), item_id: one.id }],
  );
  const entries = await listLatestEntries(tx, organization_id, items);
  const violations = moved.map((path, at): Violation => {
    const entry = entries.find(({ item_id }) => item_id === standing[at]?.id);
    const who = entry === undefined ? '' : `, by ${entry.user ?? 'the server'} at ${entry.at}`;
    const plain = path.replace(/^- /, '');
    return {
      attr: attrOfPath(plain),
      code: 'conflict',
      detail: `${plain} has changed since the plan${who}: create a new plan.`,
    };
  });
  throw new ApiError(409, 'invalid_request', violations);
}

function refuseLacking(needs: Need[]): void {
  if (needs.length === 0) return;
  throw new ApiError(
    409,
    'invalid_request',
    needs.map(({ path, detail }) => ({
      attr: attrOfPath(path ?? ''),
      code: 'conflict',
      detail,
    })),
  );
}

function shown({ steps }: CarriedOut): Pick<Applied, 'objects' | 'shown_once'> {
  return {
    objects: steps.map(({ action, kind, path, id, name }) => ({ kind, path, id, name, action })),
    shown_once: steps.flatMap(({ path, shown_secret }) =>
      shown_secret === undefined ? [] : [{ path: `${path}.secret`, secret: shown_secret }],
    ),
  };
}
