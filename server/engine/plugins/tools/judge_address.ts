import { OutboundRefused } from '../../../platform/outbound/outbound_faults.ts';
import { HostNotAllowed, requireFetchable } from '../sandbox/network/plugin_fetch.ts';

/** Fields that say where a tool sends, by its directory; the code of other tools knows it. */
export const address_fields: Record<string, string> = {
  qualtrics: 'workflowUrl',
  slack: 'url',
  webhook: 'url',
  'webhook-extensible': 'url',
  zapier: 'zapSubscriptionUrl',
};

/** Stands for the secret of a config, which a preview does not read. */
export const shown_secret = 'SECRET';

/**
 * Judges the address of a mapping as the sandbox does before it sends; undefined: it may be sent
 * to. Without `allowed_hosts` each host may be reached. A host within the secret is not judged.
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
