import { createHash } from 'node:crypto';
import { nodeSaml } from './library.ts';
import type { Service } from './parties.ts';

/**
 * The service's metadata as XML, for identity providers to import: its entity id, the address for
 * responses (HTTP-POST), that assertions have to be signed, that requests are not. The same text
 * for the same service.
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
