import type { Deps } from '../../../deps.ts';
import { appendActivity, server_actor } from '../../../platform/activity/chain.ts';
import type { Effect } from '../../../platform/http/write.ts';
import { challengeName } from './challenge.ts';
import { writeNotice } from '../notices.ts';
import { checkEntry, settleAnswer } from './proof.ts';
import { claimDueDomain } from './proof_store.ts';
import type { DueDomain } from './proof_store.ts';

/** Domains that one process checks at a time. */
const default_concurrency = 8;
/** Lease of a check; afterwards another process repeats it. */
const lease_ms = 60_000;

/**
 * Checks every due domain, the longest waiting first, and returns their number. Guarantees:
 * concurrent processes share the domains. Changes are in the activity log as done by the server,
 * and administrators are told after the commit. A fault with one domain is logged, and the domain
 * is tried again a minute later.
 */
export async function recheckDomains(
  deps: Deps,
  { signal = new AbortController().signal, concurrency = default_concurrency } = {},
): Promise<number> {
  let checked = 0;
  const lane = async () => {
    while (!signal.aborted) {
      const now = deps.clock.now();
      const due = await claimDueDomain(deps.db, now, now + lease_ms);
      if (due === undefined) return;
      try {
        await recheck(deps, due, signal);
      } catch (error) {
        if (signal.aborted) return;
        deps.log.warn(
          { err: error, domain_id: due.id },
          'a look-up of a domain could not be kept; it is tried again in a minute',
        );
      }
      checked += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  return checked;
}

async function recheck(deps: Deps, due: DueDomain, signal: AbortSignal): Promise<void> {
  const { organization_id, domain } = due;
  const looked_up = await deps.dns.lookupTxt(challengeName(domain), signal);
  const effects: Effect[] = [];
  await deps.db.transaction(async (tx) => {
    const settled = await settleAnswer(tx, organization_id, due, looked_up, deps.clock.now());
    if (settled === undefined) return;
    const { before, after, notice } = settled;
    if (before.verification.state !== after.verification.state)
      await appendActivity(
        tx,
        deps.secrets,
        { organization_id },
        server_actor,
        checkEntry(settled),
      );
    const place = { tx, afterwards: (effect: Effect) => void effects.push(effect) };
    if (notice !== undefined) await writeNotice(place, deps, organization_id, notice);
  });
  for (const effect of effects) await effect();
}
