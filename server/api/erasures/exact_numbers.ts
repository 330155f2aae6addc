import { parseExact, shortNumber } from '../../engine/ingest/parse/exact_json.ts';
import type { EventCriteria } from '../../engine/privacy/erasures/criteria.ts';

type Properties = { filter: { properties: { value: unknown }[] } };

/**
 * The filter of a checked body with all digits of its numbers, of which JavaScript's reader rounds
 * those beyond a double: rounded, they would name other events. `bytes` is the body as it came.
 */
export function withExactNumbers(filter: EventCriteria, bytes: Buffer): EventCriteria {
  if (filter.properties?.some(({ value }) => typeof value === 'number') !== true) return filter;
  const sent = (parseExact(bytes.toString()) as Properties).filter.properties;
  return {
    ...filter,
    properties: filter.properties.map((property, at) =>
      typeof property.value === 'number'
        ? { ...property, digits: shortNumber(JSON.stringify(sent[at]!.value)) }
        : property,
    ),
  };
}
