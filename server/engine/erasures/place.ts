import type { DestinationDefinition } from '../destination/destination.ts';
import type { ShownDelivery } from './shown_delivery.ts';

const names_max = 3;

/** Where a delivery lies, for whoever has to look there: host, and names of files or tables. */
export function placeOf(
  definition: DestinationDefinition | undefined,
  { destination_config, is_current, facts }: ShownDelivery,
): string {
  const config = destination_config ?? {};
  const names = [...new Set(facts?.names ?? [])];
  const more = names.length > names_max ? ` and ${names.length - names_max} more` : '';
  // What an export has now says nothing of where it delivered to before.
  const host = is_current ? definition?.host?.(config) : undefined;
  const bucket = is_current
    ? (config['bucket_name'] ?? config['container_name'] ?? config['url'])
    : undefined;
  const parts = [host, typeof bucket === 'string' && bucket !== host ? bucket : undefined];
  return [...parts, names.slice(0, names_max).join(', ') + more]
    .filter((part) => part !== undefined && part !== '')
    .join(': ');
}
