import { isObject, show } from './faults.ts';
import type { Faults } from './faults.ts';

const payload_types = ['string', 'boolean', 'json', 'number', 'date', 'daterange'];

/**
 * The jobs that people may start: an object of jobs by name, each with the fields of its payload.
 * Guarantee: without faults, every payload field has a known type.
 */
export function readPublicJobs(jobs: unknown, faults: Faults): Record<string, unknown> {
  if (!isObject(jobs)) {
    faults.add('publicJobs', `must be an object of jobs by name, not ${show(jobs)}`);
    return {};
  }
  for (const [name, job] of Object.entries(jobs)) {
    const path = `publicJobs.${name}`;
    if (!isObject(job)) faults.add(path, `must be an object, not ${show(job)}`);
    else checkPayload(`${path}.payload`, job['payload'] ?? {}, faults);
  }
  return jobs;
}

function checkPayload(path: string, payload: unknown, faults: Faults): void {
  if (!isObject(payload)) {
    faults.add(path, `must be an object of fields by name, not ${show(payload)}`);
    return;
  }
  for (const [key, field] of Object.entries(payload)) {
    if (!isObject(field)) faults.add(`${path}.${key}`, `must be an object, not ${show(field)}`);
    else if (!payload_types.includes(field['type'] as string))
      faults.add(
        `${path}.${key}.type`,
        `must be one of ${payload_types.join(', ')}, not ${show(field['type'])}`,
      );
  }
}
