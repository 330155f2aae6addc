import type { FastifyRequest } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import type { Deps } from '../../deps.ts';
import { isoInstant } from '../../platform/clock.ts';
import { requireDone } from '../../platform/http/inner/beforehand.ts';
import { invalidMany } from '../../platform/http/errors.ts';
import { openInnerRequests } from '../../platform/http/inner/inner_requests.ts';
import type { Beforehand } from '../../platform/http/inner/inner_call.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { refuseSecretsOfAgent } from './agent_secrets.ts';
import { carryOut } from './carry_out.ts';
import type { CarriedOut, Done } from './carry_out.ts';
import { driftShown } from './drift.ts';
import { look, refuseUnreadable } from './look.ts';
import type { Looked, Source } from './look.ts';
import type { Applied, Need, Plan, PlanRequest, Step } from './schema.ts';
import { kindsNeeded } from './standing.ts';
import type { Placed } from './standing.ts';
import { keepPlan, planContext } from './store.ts';

/** So long a plan can be applied: an hour. */
const open_for_ms = 3_600_000;

import type { Wanted } from './wanted.ts';

/** The transaction of a plan, and what was done before it. */
export type Planning = { tx: Transaction; beforehand: Beforehand };

/**
 * Creates the plan that a request asks for and keeps it. What would be done is rehearsed by the
 * API's routes in a savepoint that is rolled back, so the plan says what they say. Throws 400 with
 * every fault of every object, and 403 for what the caller may not read.
 */
export async function createPlan(
  deps: Deps,
  request: FastifyRequest,
  { tx, beforehand }: Planning,
  asked: PlanRequest,
): Promise<Plan> {
  const { organization_id } = request.access;
  const who = { organization_id, scopes: request.caller.scopes };
  const looked = await look(deps, tx, who, asked);
  refuseSecretsOfAgent(request, looked.configuration);
  const { carried, lacks } = await rehearse(deps, request, { tx, beforehand }, asked, looked);
  requireDone(beforehand);
  const violations = [...looked.violations, ...carried.violations];
  if (violations.length > 0) throw invalidMany(violations);
  const now_ms = deps.clock.now();
  const { judged, source, configuration } = looked;
  const steps = carried.steps.map(shownStep);
  const plan: Plan = {
    hash: hashOf(deps, organization_id, asked, looked),
    source,
    prune: asked.prune ?? false,
    people: asked.people ?? false,
    is_empty: steps.length === 0,
    summary: summaryOf(carried.steps, configuration.objects),
    steps,
    drift: await driftShown(tx, organization_id, judged),
    needs: [
      ...judged.needs,
      ...carried.needs.filter(({ path }) => judged.needs.every((one) => one.path !== path)),
      ...[...lacks].map(needOfRight),
    ],
    left: [
      ...(asked.prune === true ? [] : judged.left.map((one) => leftShown(one))),
      ...judged.held.map(({ standing, other }) => leftShown(standing, other)),
    ],
    notes: judged.notes,
    left_out: configuration.left_out,
    created_at: isoInstant(now_ms),
    expires_at: isoInstant(now_ms + open_for_ms),
  };
  const id = uuidv7();
  await keepPlan(tx, organization_id, {
    id,
    hash: plan.hash,
    request_sealed: deps.secrets.seal(JSON.stringify(asked), planContext(id)),
    answer: plan,
    versions: versionsOf(deps, looked),
  });
  return plan;
}

/**
 * A kept plan as it was answered. Throws 403 where it names what the caller may not read, as the
 * plan itself would: another key may have asked for it.
 */
export function keptPlan(answer: Plan, scopes: readonly string[]): Plan {
  // One of a release before has no such fields.
  const { left_out = [], notes = [] } = answer as Partial<Plan>;
  const named = [...answer.steps, ...answer.drift, ...answer.needs, ...answer.left, ...notes];
  const names = new Set(named.flatMap(({ kind }) => kind ?? []));
  refuseUnreadable(kindsNeeded(names), scopes);
  return { ...answer, left_out, notes };
}

/** Carries what the rehearsal gave out of what is rolled back. */
class Rehearsed extends Error {
  readonly carried: CarriedOut;
  constructor(carried: CarriedOut) {
    super('Nothing is kept of a rehearsal.');
    this.carried = carried;
  }
}

async function rehearse(
  deps: Deps,
  request: FastifyRequest,
  { tx, beforehand }: Planning,
  asked: PlanRequest,
  { judged, violations }: Looked,
): Promise<{ carried: CarriedOut; lacks: ReadonlySet<string | number> }> {
  // What a rehearsal would do once it is committed is never done.
  const inner = openInnerRequests(request, tx, () => undefined, beforehand, 'rehearsal');
  const carrying = {
    db: tx,
    inner,
    organization_id: request.access.organization_id,
    // What a fault hides would be taken for what is no longer named.
    prune: asked.prune === true && violations.length === 0,
    noteOf: () => ({ field: 'managed_by', action: 'changed' as const, before: null, after: null }),
  };
  try {
    await deps.db.within(tx, () =>
      deps.db.transaction(async () => {
        throw new Rehearsed(await carryOut(judged, carrying));
      }),
    );
  } catch (error) {
    if (error instanceof Rehearsed) return { carried: error.carried, lacks: inner.lacks };
    throw error;
  }
  throw new Error('A rehearsal ended without a word.');
}

/** The versions of what a plan looked at, as HMACs: they stand beside the plan in clear. */
export function versionsOf(
  { secrets }: Pick<Deps, 'secrets'>,
  { judged }: Looked,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(judged.versions).map(([path, version]) => [
      path,
      secrets.hash(`configuration version ${version}`).toString('hex'),
    ]),
  );
}

/** The same plan of the same state has the same hash; only the server's key can create it. */
function hashOf(deps: Deps, organization_id: string, asked: PlanRequest, looked: Looked): string {
  const { configuration, source, fingerprint } = looked;
  const objects = configuration.objects.map(({ kind, path, was, fields, secrets }) => [
    path,
    was ?? null,
    fields,
    Object.entries(secrets).map(([place, secret]) => [
      place,
      'value' in secret ? fingerprint(kind, path, place, secret.value) : secret,
    ]),
  ]);
  const said = [organization_id, source, asked.prune ?? false, asked.people ?? false, objects];
  return deps.secrets
    .hash(`configuration plan ${JSON.stringify([...said, versionsOf(deps, looked)])}`)
    .toString('hex');
}

/** A step as it is answered. */
function shownStep(done: Done): Step {
  const { action, kind, path, id, name, moved_from, changes, cost, standing } = done;
  // An id that the rehearsal gave is nobody's.
  return {
    action,
    kind,
    path,
    id: standing === undefined ? null : id,
    name,
    moved_from,
    changes,
    cost,
  };
}

/** How many objects each action concerns. */
export function summaryOf(steps: readonly Done[], objects: readonly Wanted[]): Applied['summary'] {
  const count = (action: Step['action']) => steps.filter((step) => step.action === action).length;
  const deleted = count('delete');
  return {
    create: count('create'),
    change: count('change'),
    move: count('move'),
    adopt: count('adopt'),
    delete: deleted,
    unchanged: objects.filter((one) => !one.is_reference).length - (steps.length - deleted),
  };
}

function needOfRight(right: string | number): Need {
  const isScope = typeof right === 'string';
  return {
    code: isScope ? 'scope' : 'level',
    kind: null,
    path: null,
    reference: null,
    detail: isScope
      ? `Applying needs a key with the scope ${right}.`
      : `Applying needs the level ${right} in the organization.`,
  };
}

/** `other`: what another source applied in it. */
function leftShown({ kind, path, id, name }: Placed, other?: Placed): Plan['left'][number] {
  const fate =
    other === undefined
      ? 'it stays; a prune deletes it.'
      : `it stays, as the configuration ${other.managed?.source} manages something in it.`;
  const detail = `It was applied before, and is not named any more: ${fate}`;
  return { kind: kind.name, path, id, name, detail };
}

/** Where what was applied comes from, as the log says it. */
export function noteOf(source: Source, hash: string, key: string) {
  const after = { key, source: source.name, commit: source.commit, plan: hash };
  return { field: 'managed_by', action: 'changed' as const, before: null, after };
}
