import type { FastifyRequest } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import type { Deps } from '../../deps.ts';
import { isoInstant } from '../../platform/clock.ts';
import { isOfAgent } from '../../platform/http/caller/agent.ts';
import { invalidMany } from '../../platform/http/errors.ts';
import { requireDone } from '../../platform/http/inner/beforehand.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { summaryOf } from './carry_out.ts';
import type { Done } from './carry_out.ts';
import { compare, versionsOf } from './compare.ts';
import type { Compared } from './compare.ts';
import { attrOfPath, kindsNeeded, read, refuseUnreadable } from './read.ts';
import type { Configuration, Placed, Read } from './read.ts';
import { rehearse } from './rehearse.ts';
import type { Planning } from './rehearse.ts';
import type { Drift, Need, Plan, PlanRequest, Step } from './schema.ts';
import { keepPlan, listLatestEntries, planContext } from './store.ts';

/** Time for which a plan can be applied: an hour. */
const open_for_ms = 3_600_000;

/**
 * Creates and stores the plan of a request. The API's routes rehearse it in a savepoint that is
 * rolled back, so the plan has their messages. Throws 400 with every fault of every object, and 403
 * for parts that the caller may not read.
 */
export async function createPlan(
  deps: Deps,
  request: FastifyRequest,
  { tx, beforehand }: Planning,
  asked: PlanRequest,
): Promise<Plan> {
  const { organization_id } = request.access;
  const who = { organization_id, scopes: request.caller.scopes };
  const wanted = await read(deps, tx, who, asked);
  refuseSecretsOfAgent(request, wanted.configuration);
  const compared = compare(wanted);
  const { carried, lacks } = await rehearse(deps, request, { tx, beforehand }, asked, compared);
  requireDone(beforehand);
  const violations = [...compared.violations, ...carried.violations];
  if (violations.length > 0) throw invalidMany(violations);
  const now_ms = deps.clock.now();
  const { source, configuration } = wanted;
  const steps = carried.steps.map(shownStep);
  const plan: Plan = {
    hash: hashOf(deps, organization_id, asked, wanted, compared),
    source,
    prune: asked.prune ?? false,
    people: asked.people ?? false,
    is_empty: steps.length === 0,
    summary: summaryOf(carried.steps, configuration.objects),
    steps,
    drift: await driftShown(tx, organization_id, compared),
    needs: [
      ...compared.needs,
      ...carried.needs.filter(({ path }) => compared.needs.every((one) => one.path !== path)),
      ...[...lacks].map(needOfRight),
    ],
    left: [
      ...(asked.prune === true ? [] : compared.left.map((one) => leftShown(one))),
      ...compared.held.map(({ standing, other }) => leftShown(standing, other)),
    ],
    notes: compared.notes,
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
    versions: versionsOf(deps, compared),
  });
  return plan;
}

/**
 * Returns a stored plan as it was answered. Throws 403 if it names objects that the caller may not
 * read, like the plan itself: another key may have requested it.
 */
export function keptPlan(answer: Plan, scopes: readonly string[]): Plan {
  // Plans of earlier releases lack these fields.
  const { left_out = [], notes = [] } = answer as Partial<Plan>;
  const named = [...answer.steps, ...answer.drift, ...answer.needs, ...answer.left, ...notes];
  const names = new Set(named.flatMap(({ kind }) => kind ?? []));
  refuseUnreadable(kindsNeeded(names), scopes);
  return { ...answer, left_out, notes };
}

/**
 * Throws 400 if an agent sends the value of a secret, because it would stay in the agent's context
 * and logs. A person enters secrets, and the agent says `keep`.
 */
function refuseSecretsOfAgent(request: FastifyRequest, { objects }: Configuration): void {
  if (!isOfAgent(request)) return;
  const given = objects.flatMap(({ path, secrets }) =>
    Object.entries(secrets).flatMap(([field, secret]) =>
      'value' in secret ? [attrOfPath(path, field)] : [],
    ),
  );
  if (given.length > 0)
    throw invalidMany(
      given.map((attr) => ({
        attr,
        code: 'invalid_input',
        detail:
          'An agent cannot set secrets: write {"keep": true}, and let a person enter the secret ' +
          'in the console. Replace every secret that was written here.',
      })),
    );
}

/** The same plan of the same state has the same hash; only the server's key can create one. */
function hashOf(
  deps: Deps,
  organization_id: string,
  asked: PlanRequest,
  { configuration, source, fingerprint }: Read,
  compared: Compared,
): string {
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
    .hash(`configuration plan ${JSON.stringify([...said, versionsOf(deps, compared)])}`)
    .toString('hex');
}

/** Returns a step as the answer has it. */
function shownStep(done: Done): Step {
  const { action, kind, path, id, name, moved_from, changes, cost, standing } = done;
  // An id from the rehearsal is not valid afterwards.
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

/** `other`: the object inside that another source applied. */
function leftShown({ kind, path, id, name }: Placed, other?: Placed): Plan['left'][number] {
  const fate =
    other === undefined
      ? 'it stays; a prune deletes it.'
      : `it stays, because the configuration ${other.managed?.source} manages something in it.`;
  const detail = `It was applied before, and the configuration no longer names it: ${fate}`;
  return { kind: kind.name, path, id, name, detail };
}

/**
 * Returns the changes made outside of the configuration, with their authors from the activity log.
 */
async function driftShown(
  db: Queryable,
  organization_id: string,
  { drift, gone }: Pick<Compared, 'drift' | 'gone'>,
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
  return withActors(db, organization_id, found);
}

/** A changed object, and its kind in the activity log. */
export type Changed = Omit<Drift, 'by'> & { scope: string; id: string };

/** Returns the changes with the latest entry of the activity log about each object. */
export async function withActors(
  db: Queryable,
  organization_id: string,
  found: readonly Changed[],
): Promise<Drift[]> {
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
