import { isFields } from '../../platform/fields.ts';
import { kindOfPayload } from './packages/public_jobs.ts';
import { storableFault } from './packages/storable.ts';

/** A fault in the payload of a job: the field, a code of the API's list and a sentence. */
export type PayloadFault = {
  attr: string;
  code: 'required' | 'unknown_field' | 'invalid_input' | 'max_length';
  detail: string;
};

type Field = {
  type?: unknown;
  title?: unknown;
  required?: unknown;
  default?: unknown;
  staff_only?: unknown;
};

/**
 * Checks the payload of a job that a person starts against the job's spec (see `readPublicJobs`),
 * and returns values by field, with defaults for absent or null ones. For an invalid payload,
 * returns its faults, at most one for each field. The spec comes from the package: a field of an
 * unknown kind accepts any value.
 */
export function publicJobPayload(
  spec: unknown,
  sent: Record<string, unknown>,
): { payload: Record<string, unknown> } | { faults: PayloadFault[] } {
  const described = isFields(spec) && isFields(spec['payload']) ? spec['payload'] : {};
  const fields = new Map(
    Object.entries(described).flatMap(([name, field]) =>
      isFields(field) ? [[name, field as Field] as const] : [],
    ),
  );
  const faults: PayloadFault[] = Object.keys(sent)
    .filter((attr) => !fields.has(attr))
    .map((attr) => ({ attr, code: 'unknown_field', detail: 'The job has no field of this name.' }));
  const payload = new Map<string, unknown>();
  for (const [attr, field] of fields) {
    const given = Object.hasOwn(sent, attr) ? (sent[attr] ?? undefined) : undefined;
    const fault = fieldFault(attr, field, given);
    if (fault !== undefined) faults.push(fault);
    const value = given ?? field.default ?? undefined;
    if (value !== undefined) payload.set(attr, value);
  }
  if (faults.length > 0) return { faults };
  const values = Object.fromEntries(payload);
  const fault = storableFault(values);
  return fault === undefined
    ? { payload: values }
    : { faults: [{ attr: '', code: 'max_length', detail: `The payload ${fault}.` }] };
}

function fieldFault(attr: string, field: Field, value: unknown): PayloadFault | undefined {
  const title = typeof field.title === 'string' ? field.title : attr;
  if (value === undefined || value === '')
    return field.required === true && (field.default ?? null) === null
      ? { attr, code: 'required', detail: `${title} is required.` }
      : undefined;
  if (field.staff_only === true)
    return {
      attr,
      code: 'invalid_input',
      detail: 'The package reserves this field for its maker: leave it out.',
    };
  const kind = kindOfPayload(field.type);
  if (!kind.holds(value))
    return { attr, code: 'invalid_input', detail: `${title} must be ${kind.must}.` };
  if (!holdsRounded(value)) return undefined;
  const detail =
    `${title} has a whole number beyond ${Number.MAX_SAFE_INTEGER}. The job runs in ` +
    'JavaScript, which would lose digits. Send it as text, if the job accepts that.';
  return { attr, code: 'invalid_input', detail };
}

/** Returns true if it contains a whole number that may have been rounded. */
function holdsRounded(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsRounded);
}
