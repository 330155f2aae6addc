import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { hasValue } from '../../model/models/readable_json.ts';

/**
 * An event property with exactly this value. `digits` is the text of a number whose value may have
 * lost digits; absent if an earlier release sealed it.
 */
export type PropertyCriterion = {
  key: string;
  value: string | number | boolean;
  digits?: string;
};

/** Events that meet every condition; instants are ISO 8601, half open. */
export type EventCriteria = {
  events?: string[] | undefined;
  after?: string | undefined;
  before?: string | undefined;
  properties?: PropertyCriterion[] | undefined;
};

/** The subject of an erasure. */
export type Criteria =
  | { kind: 'persons'; distinct_ids: string[]; person_ids: string[] }
  | { kind: 'events'; filter: EventCriteria };

/** Returns the context that seals the criteria; they only open for this erasure's row. */
export function criteriaContext(erasure_id: string): string {
  return `erasures:${erasure_id}:criteria`;
}

/** Seals the criteria while the erasure is in progress, so that no name is stored in plain text. */
export function sealCriteria(
  secrets: Pick<Secrets, 'seal'>,
  erasure_id: string,
  criteria: Criteria,
): Buffer {
  return secrets.seal(JSON.stringify(criteria), criteriaContext(erasure_id));
}

/** Opens what `sealCriteria` created. Throws without the key that sealed it. */
export function openCriteria(
  secrets: Pick<Secrets, 'open'>,
  erasure_id: string,
  sealed: Buffer,
): Criteria {
  return JSON.parse(secrets.open(sealed, criteriaContext(erasure_id))) as Criteria;
}

/** Returns the public part of the criteria: the number of named persons, and no name. */
export function askedOf(criteria: Criteria): Record<string, number> {
  if (criteria.kind === 'persons')
    return {
      distinct_ids: criteria.distinct_ids.length,
      person_ids: criteria.person_ids.length,
    };
  const { events, after, before, properties } = criteria.filter;
  return {
    events: events?.length ?? 0,
    instants: Number(after !== undefined) + Number(before !== undefined),
    properties: properties?.length ?? 0,
  };
}

/**
 * Returns the condition on `events` for a filter, with its parameters; instants refer to
 * `timestamp`. No value becomes part of the text.
 */
export function filterCondition({ events, after, before, properties }: EventCriteria): {
  condition: string;
  query_params: Record<string, unknown>;
} {
  const parts: string[] = [];
  const query_params: Record<string, unknown> = {};
  const add = (part: string, name: string, value: unknown) => {
    parts.push(part);
    query_params[name] = value;
  };
  if (events !== undefined) add('event IN {names:Array(String)}', 'names', events);
  const at = 'toUnixTimestamp64Micro(timestamp)';
  if (after !== undefined) add(`${at} >= {after:Int64}`, 'after', microseconds(after));
  if (before !== undefined) add(`${at} < {before:Int64}`, 'before', microseconds(before));
  for (const [index, { key, value, digits }] of (properties ?? []).entries()) {
    query_params[`key_${index}`] = key;
    query_params[`value_${index}`] = digits ?? String(value);
    const of = { key: `{key_${index}:String}`, value: `{value_${index}:String}` };
    parts.push(hasValue('properties', { ...of, is_string: typeof value === 'string' }));
  }
  return { condition: parts.join(' AND '), query_params };
}

/** Returns the microseconds of an ISO instant, which exceed the digits of a number. */
function microseconds(instant: string): string {
  const fraction = /\.(\d+)/.exec(instant)?.[1] ?? '';
  const whole = BigInt(Math.floor(Date.parse(instant) / 1_000)) * 1_000_000n;
  return String(whole + BigInt(fraction.padEnd(6, '0').slice(0, 6) || '0'));
}
