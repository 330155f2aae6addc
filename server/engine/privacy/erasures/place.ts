import type { DestinationDefinition } from '../../model/destination/destination.ts';
import type { ShownDelivery } from './shown_delivery.ts';

const names_max = 3;

/**
 * Returns the place of a delivery for the person who has to search it: host, and names of files or
 * tables.
 */
export function placeOf(
  definition: DestinationDefinition | undefined,
  {
    destination_config,
    is_current,
    facts,
  }: Pick<ShownDelivery, 'destination_config' | 'is_current' | 'facts'>,
): string {
  const config = destination_config ?? {};
  const names = [...new Set(facts?.names ?? [])];
  const more = names.length > names_max ? ` and ${names.length - names_max} more` : '';
  // The export's current host tells nothing about earlier deliveries.
  const host = is_current ? definition?.host?.(config) : undefined;
  const bucket = is_current
    ? (config['bucket_name'] ?? config['container_name'] ?? config['url'])
    : undefined;
  // A URL contains its host, and the receipt of an endpoint only names that.
  const url = is_current ? URL.parse(String(config['url'])) : null;
  const parts = new Set([host, bucket, names.slice(0, names_max).join(', ') + more]);
  return [...parts]
    .filter((part) => typeof part === 'string' && part !== '')
    .filter((part) => part !== url?.host && part !== url?.hostname)
    .join(': ');
}
