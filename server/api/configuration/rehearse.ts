import type { FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import type { Beforehand } from '../../platform/http/inner/inner_call.ts';
import { openInnerRequests } from '../../platform/http/inner/inner_requests.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { carryOut } from './carry_out.ts';
import type { CarriedOut } from './carry_out.ts';
import type { Compared } from './compare.ts';
import type { PlanRequest } from './schema.ts';

/** The transaction of a plan, and the work before it. */
export type Planning = { tx: Transaction; beforehand: Beforehand };

/** Carries the results of a rehearsal out of the rolled-back savepoint. */
class Rehearsed extends Error {
  readonly carried: CarriedOut;
  constructor(carried: CarriedOut) {
    super('A rehearsal is rolled back.');
    this.carried = carried;
  }
}

/**
 * Executes the steps by the API's routes in a savepoint that is rolled back. Returns the results,
 * and the scopes and levels that the caller lacks.
 */
export async function rehearse(
  deps: Deps,
  request: FastifyRequest,
  { tx, beforehand }: Planning,
  asked: PlanRequest,
  compared: Compared,
): Promise<{ carried: CarriedOut; lacks: ReadonlySet<string | number> }> {
  // A rehearsal never runs its effects after the commit.
  const inner = openInnerRequests(request, tx, () => undefined, beforehand, 'rehearsal');
  const carrying = {
    db: tx,
    inner,
    organization_id: request.access.organization_id,
    // An object hidden by a fault would look like a removed one.
    prune: asked.prune === true && compared.violations.length === 0,
    noteOf: () => ({ field: 'managed_by', action: 'changed' as const, before: null, after: null }),
  };
  try {
    await deps.db.within(tx, () =>
      deps.db.transaction(async () => {
        throw new Rehearsed(await carryOut(compared, carrying));
      }),
    );
  } catch (error) {
    if (error instanceof Rehearsed) return { carried: error.carried, lacks: inner.lacks };
    throw error;
  }
  throw new Error('A rehearsal ended without a result.');
}
