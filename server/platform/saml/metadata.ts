import { createHash } from 'node:crypto';
import { nodeSaml } from './library.ts';
import type { Service } from './parties.ts';

/**
 * Returns the service's metadata as XML, for identity providers to import: its entity id, the
 * address for responses (HTTP-POST), and that assertions must be signed while requests are not. The
 * same service always gives the same text.
 */
export function serviceMetadata(service: Service): string {
  const digest = createHash('sha256').update(JSON.stringify(service)).digest('hex');
  return nodeSaml().generateServiceProviderMetadata({
    issuer: service.entity_id,
    callbackUrl: service.acs_url,
    wantAssertionsSigned: true,
    generateUniqueId: () => `_${digest.slice(0, 32)}`,
  });
}
