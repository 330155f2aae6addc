import type { Deps } from '../../../deps.ts';
import type { LookedUp } from '../../../platform/dns/dns.ts';
import { missing } from '../../../platform/http/errors.ts';
import type { Afterwards } from '../../../platform/http/write.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { writeNotice } from '../notices.ts';
import type { DomainRow } from '../schema.ts';
import { settleAnswer } from './proof.ts';
import type { Settled } from './proof.ts';

/**
 * Applies the answer of a requested check, and writes the mail about it. Throws 404 if the
 * organization no longer has the domain.
 */
export async function settleNow(
  deps: Deps,
  { tx, afterwards }: { tx: Transaction; afterwards: Afterwards },
  looked: { organization_id: string; asked: DomainRow; looked_up: LookedUp },
): Promise<Settled> {
  const { organization_id, asked, looked_up } = looked;
  const settled =
    (await settleAnswer(tx, organization_id, asked, looked_up, deps.clock.now())) ?? missing();
  if (settled.notice !== undefined)
    await writeNotice({ tx, afterwards }, deps, organization_id, settled.notice);
  return settled;
}
