import { OutboundRefused } from '../../../platform/outbound/outbound_faults.ts';
import { HostNotAllowed, requireFetchable } from '../sandbox/network/plugin_fetch.ts';

/** Fields with the address of a tool, by its directory; other tools have it in their code. */
export const address_fields: Record<string, string> = {
  qualtrics: 'workflowUrl',
  slack: 'url',
  webhook: 'url',
  'webhook-extensible': 'url',
  zapier: 'zapSubscriptionUrl',
};

/** Placeholder for the secret of a config, which a preview does not read. */
export const shown_secret = 'SECRET';

/**
 * Judges the address of a mapping like the sandbox before sending; undefined: it is allowed.
 * Without `allowed_hosts`, every host is allowed. A host within the secret is not judged.
 */
export function judgeAddress(
  address: unknown,
  allowed_hosts: string[] | undefined,
): { outcome: 'waits' | 'invalid'; reason: string } | undefined {
  if (typeof address !== 'string') return undefined;
  const [before_path = ''] = address.split(/(?<![:/])[/?#]/);
  if (before_path.includes(shown_secret)) return undefined;
  try {
    requireFetchable(address, allowed_hosts ?? [URL.parse(address)?.hostname ?? '']);
    return undefined;
  } catch (error) {
    if (!(error instanceof OutboundRefused)) throw error;
    const outcome = error instanceof HostNotAllowed ? 'waits' : 'invalid';
    return { outcome, reason: error.message };
  }
}
