import type { Values } from '../form/values.ts';
import { isObject } from './config_fields.ts';

/** A field of a job's payload. */
export type JobField = {
  key: string;
  label: string;
  type: 'string' | 'boolean' | 'json' | 'number' | 'date' | 'daterange';
  is_required: boolean;
  initial: string;
};

/** A job that people may start. */
export type Job = { name: string; fields: JobField[] };

const types = ['boolean', 'json', 'number', 'date', 'daterange'] as const;

/**
 * Returns the jobs in a plugin's `public_jobs`, without fields that only the server's staff sets.
 */
export function jobsOf(public_jobs: unknown): Job[] {
  if (!isObject(public_jobs)) return [];
  return Object.entries(public_jobs).map(([name, job]) => {
    const payload = isObject(job) && isObject(job['payload']) ? job['payload'] : {};
    return { name, fields: Object.entries(payload).flatMap(([key, field]) => fieldOf(key, field)) };
  });
}

function fieldOf(key: string, field: unknown): JobField[] {
  if (!isObject(field) || field['staff_only'] === true) return [];
  const { title, type, required } = field;
  const initial = field['default'] ?? '';
  return [
    {
      key,
      label: typeof title === 'string' ? title : key,
      type: types.find((one) => one === type) ?? 'string',
      is_required: required === true,
      initial: typeof initial === 'string' ? initial : JSON.stringify(initial),
    },
  ];
}

/**
 * Returns a job's fields to send. Empty ones are left out, so that the job's default applies. A
 * text that is no number or JSON is sent as typed, and the API reports it.
 */
export function payloadOf(fields: JobField[], values: Values): Record<string, unknown> {
  return Object.fromEntries(
    fields.flatMap(({ key, type }): [string, unknown][] => {
      const value = values[`payload__${key}`];
      if (type === 'boolean') return [[key, value?.length === 1]];
      if (typeof value !== 'string' || value === '') return [];
      if (type === 'daterange') return [[key, [value, values[`payload__${key}__1`] ?? '']]];
      if (type === 'number') return [[key, numberOr(value)]];
      return [[key, type === 'json' ? parsed(value) : value]];
    }),
  );
}

function numberOr(text: string): number | string {
  const value = Number(text);
  return text.trim() !== '' && Number.isFinite(value) ? value : text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
