import { isFields } from '../../../platform/fields.ts';
import { show } from './faults.ts';
import type { Faults } from './faults.ts';

type Kind = { must: string; holds(value: unknown): boolean };

const day_pattern = /^\d{4}-\d{2}-\d{2}$/;
const instant_pattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?$/;

const kinds: Record<string, Kind> = {
  string: { must: 'text', holds: (value) => typeof value === 'string' },
  boolean: { must: 'true or false', holds: (value) => typeof value === 'boolean' },
  json: { must: 'a value of JSON', holds: () => true },
  number: { must: 'a number', holds: (value) => typeof value === 'number' },
  date: { must: 'a day, or an instant, such as "2026-01-31"', holds: isDate },
  daterange: {
    must: 'a list of two days or instants, the earlier one first',
    holds: (value) =>
      Array.isArray(value) &&
      value.length === 2 &&
      value.every(isDate) &&
      Date.parse(value[0] as string) <= Date.parse(value[1] as string),
  },
};

/** Returns the kind of values for a field of this type; an unknown type accepts any value. */
export function kindOfPayload(type: unknown): Kind {
  return typeof type === 'string' && Object.hasOwn(kinds, type) ? kinds[type]! : kinds['json']!;
}

/**
 * Reads the jobs that people may start: an object of jobs by name, each with the fields of its
 * payload. Guarantee: without faults, every payload field has a known type and no default of
 * another one.
 */
export function readPublicJobs(jobs: unknown, faults: Faults): Record<string, unknown> {
  if (!isFields(jobs)) {
    faults.add('publicJobs', `must be an object of jobs by name, not ${show(jobs)}`);
    return {};
  }
  for (const [name, job] of Object.entries(jobs)) {
    const path = `publicJobs.${name}`;
    if (!isFields(job)) faults.add(path, `must be an object, not ${show(job)}`);
    else checkPayload(`${path}.payload`, job['payload'] ?? {}, faults);
  }
  return jobs;
}

function checkPayload(path: string, payload: unknown, faults: Faults): void {
  if (!isFields(payload)) {
    faults.add(path, `must be an object of fields by name, not ${show(payload)}`);
    return;
  }
  for (const [key, field] of Object.entries(payload)) {
    if (!isFields(field)) faults.add(`${path}.${key}`, `must be an object, not ${show(field)}`);
    else if (!Object.hasOwn(kinds, String(field['type'])))
      faults.add(
        `${path}.${key}.type`,
        `must be one of ${Object.keys(kinds).join(', ')}, not ${show(field['type'])}`,
      );
    else checkDefault(`${path}.${key}.default`, field, faults);
  }
}

/** A default becomes part of the payload unchanged. */
function checkDefault(path: string, field: Record<string, unknown>, faults: Faults): void {
  const value = field['default'] ?? '';
  const kind = kindOfPayload(field['type']);
  if (value !== '' && !kind.holds(value))
    faults.add(path, `must be ${kind.must}, not ${show(value)}`);
}

/** Returns true for a day that exists in the calendar, with or without a time. */
function isDate(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > 40) return false;
  const day = value.slice(0, 10);
  return (
    (day_pattern.test(value) || instant_pattern.test(value)) &&
    !Number.isNaN(Date.parse(value)) &&
    new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)
  );
}
