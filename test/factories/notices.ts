import assert from 'node:assert/strict';
import sql from 'sql-template-tag';
import { claimDueDeliveries } from '../../server/engine/notices/claim.ts';
import type { DueDelivery } from '../../server/engine/notices/claim.ts';
import { newExport } from './batch_exports/batch_exports.ts';
import type { Harness, TestOrganization } from '../harness.ts';
import type { HttpReceiver } from '../servers/http_receiver.ts';

/** The key of `webhook_secret`. */
export const webhook_key = Buffer.from('a key that has thirty-two bytes!');
/** The signing secret of the tests' webhooks. */
export const webhook_secret = `whsec_${webhook_key.toString('base64')}`;

let paths = 0;

/**
 * Creates a webhook with its own path at the receiver. It gets the notices of an export of the
 * organization, by default a new one.
 */
export async function openWebhook(
  harness: Harness,
  receiver: HttpReceiver,
  fields: Record<string, unknown> = {},
  of?: TestOrganization,
) {
  const home = of ?? (await harness.newOrganization());
  const exported = await newExport(home, { name: 'Lake' });
  const list = `/api/projects/${home.project.id}/notice_targets/`;
  const path = `/hook/${(paths += 1)}`;
  const create = async (body: Record<string, unknown>) => {
    const created = await home.ask('POST', list, body);
    assert.equal(created.status, 201, created.text);
    return created.body;
  };
  const url = `${receiver.url}${path}`;
  const target = await create({ type: 'webhook', url, secret: webhook_secret, ...fields });
  return {
    home,
    exported,
    create,
    target,
    url,
    received: () => receiver.requests.filter((request) => request.path === path),
    state: async () => (await home.ask('GET', `${list}${target.id}/`)).body,
    change: (body: Record<string, unknown>) => home.ask('PATCH', `${list}${target.id}/`, body),
  };
}

/** Returns the deliveries of an export's notices and their outcome, oldest first. */
export function deliveriesOf(
  harness: Harness,
  exportId: string,
): Promise<{ outcome: string; attempts: number; next_attempt_at: string | null }[]> {
  return harness.deps.db.rows(
    sql`SELECT outcome, attempts, next_attempt_at FROM notice_deliveries
      WHERE batch_export_id = ${exportId} ORDER BY id`,
  );
}

/** Claims the one delivery that is due, like a process that then dies. */
export async function claimOne(harness: Harness, now: number): Promise<DueDelivery> {
  const claimed = await claimDueDeliveries(
    harness.deps.db,
    { now, leased_until: now + 60_000, last_team_id: 0 },
    100,
  );
  assert.equal(claimed.length, 1);
  return claimed[0]!;
}
