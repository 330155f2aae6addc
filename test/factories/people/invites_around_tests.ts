import { randomUUID } from 'node:crypto';
import { after, before } from 'node:test';
import { openHarness, shareHarness } from '../../harness.ts';
import type { Harness } from '../../harness.ts';

/** Set during the tests of the file that imports it. */
export let harness: Harness;

/**
 * Opens the harness before the tests of the file that calls it, and closes it after. `passed_ms` is
 * how far its clock is ahead; without it, the harness is the shared one. Each test file calls it
 * itself, because hooks of an imported module may run before its tests.
 */
export function openAroundTests(passed_ms?: () => number): void {
  if (passed_ms === undefined) {
    const shared = shareHarness({
      clickhouse: false,
      opened: async () => {
        harness = shared;
      },
    });
    return;
  }
  before(async () => {
    harness = await openHarness({
      clickhouse: false,
      deps: { clock: { now: () => Date.now() + passed_ms() } },
    });
  });
  after(() => harness.close());
}

/** The levels of members. */
export type Level = 1 | 8 | 15;

/** The URL of an organization's invites. */
export const base = (organization_id: string) => `/api/organizations/${organization_id}/invites/`;

/** A new address. */
export const address = () => `${randomUUID()}@example.com`;

/** Invites somebody. */
export const invite = (organization_id: string, key: string, body: unknown) =>
  harness.request('POST', base(organization_id), { key, body });

/** The first page of an organization's invites. */
export const list = async (organization_id: string, key: string) =>
  (await harness.request('GET', base(organization_id), { key })).body;

/** Withdraws an invite. */
export const remove = (organization_id: string, id: string, key: string, headers = {}) =>
  harness.request('DELETE', `${base(organization_id)}${id}/`, { key, headers });

/** Sends an invite again. */
export const resend = (organization_id: string, id: string, key: string) =>
  harness.request('POST', `${base(organization_id)}${id}/resend/`, { key });

/** Requests the page of a link, as anyone with the link may. */
export const shown = (link: string) =>
  harness.request('GET', `/api/invites/${link.split('/invite/')[1]!.replace('?', '/?')}`);
