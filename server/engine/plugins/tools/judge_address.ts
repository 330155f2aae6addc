import { setTimeout as pause } from 'node:timers/promises';
import { isFields } from '../../../platform/fields.ts';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { OutboundRefused } from '../../../platform/outbound/outbound_faults.ts';
import { openSemaphore } from '../../../platform/pacing/semaphore.ts';
import { HostNotAllowed, requireFetchable } from '../sandbox/network/plugin_fetch.ts';

/** Fields with the address of a tool, by its directory; other tools have it in their code. */
export const address_fields: Record<string, string> = {
  qualtrics: 'workflowUrl',
  'sluice-http-request': 'url',
  slack: 'url',
  webhook: 'url',
  'webhook-extensible': 'url',
  zapier: 'zapSubscriptionUrl',
};

/**
 * Returns why an address of a mapping can be sent to for no event; undefined if none is known, or
 * if it depends on the event or the secret.
 */
export function fixedAddressFault(address: unknown): string | undefined {
  const text = isFields(address) ? address['@template'] : address;
  if (typeof text !== 'string' || text.includes('{{')) return undefined;
  try {
    requireFetchable(text, [URL.parse(text)?.hostname ?? '']);
    return undefined;
  } catch (error) {
    if (error instanceof OutboundRefused) return error.message;
    throw error;
  }
}

/** Placeholder for the secret of a config, which a preview does not read. */
export const shown_secret = 'SECRET';

/** Hosts that a tool may reach, undefined for any, and the guard before all connections. */
export type Reaching = {
  allowed_hosts: string[] | undefined;
  outbound: Pick<Outbound, 'resolveHost'>;
};

/** A name that is looked up for longer is not judged. */
const look_ms_max = 1_000;
/** Slow name servers hold few of the threads that all of the server shares. */
const looks = openSemaphore(2);

/**
 * Judges the address of a mapping like the sandbox and the guard before sending; undefined: nothing
 * is known against it. Without `allowed_hosts`, every host is allowed. A host within the secret is
 * not judged.
 */
export async function judgeAddress(
  address: unknown,
  { allowed_hosts, outbound }: Reaching,
): Promise<{ outcome: 'waits' | 'invalid'; reason: string } | undefined> {
  if (typeof address !== 'string') return undefined;
  const [before_path = ''] = address.split(/(?<![:/])[/?#]/);
  if (before_path.includes(shown_secret)) return undefined;
  try {
    const hosts = allowed_hosts ?? [URL.parse(address)?.hostname ?? ''];
    const { hostname } = requireFetchable(address, hosts);
    const until = performance.now() + look_ms_max;
    const look = async () => performance.now() < until && outbound.resolveHost(hostname);
    await Promise.race([looks.run(look), pause(look_ms_max, undefined, { ref: false })]);
    return undefined;
  } catch (error) {
    // A name that is not found now may be found when it is sent to.
    if (!(error instanceof OutboundRefused)) return undefined;
    const outcome = error instanceof HostNotAllowed ? 'waits' : 'invalid';
    return { outcome, reason: error.message };
  }
}
