import { parseExact, shortNumber } from '../../engine/ingest/parse/exact_json.ts';
import type { EventCriteria } from '../../engine/privacy/erasures/criteria.ts';

type Properties = { filter: { properties: { value: unknown }[] } };

/**
 * Returns the filter of a checked body with all digits of its numbers. JavaScript rounds numbers
 * beyond a double, and a rounded number would match other events. `bytes` is the body as sent.
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
