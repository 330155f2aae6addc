import { isNumberText } from '../parse/exact_json.ts';
import type { JsonObject } from '../parse/exact_json.ts';

/** The types of a planned property. */
export const property_types = [
  'any',
  'text',
  'number',
  'integer',
  'boolean',
  'list',
  'object',
] as const;
/** The treatments of an event that differs from the plan. */
export const plan_modes = ['warn', 'refuse'] as const;
/** The treatments of an event that the plan does not name. */
export const unplanned_fates = ['allow', 'warn', 'refuse'] as const;

/** A property of a planned event; without `values`, it may have any value of its type. */
type PlannedProperty = {
  name: string;
  type: (typeof property_types)[number];
  required: boolean;
  values?: (string | number | boolean)[];
};

/** An event of the tracking plan, as ingestion needs it. */
export type PlannedEvent = {
  event: string;
  mode: (typeof plan_modes)[number];
  properties: PlannedProperty[];
  other_properties: 'allow' | 'report';
};

/** The events that a project expects, and the treatment of others. */
export type TrackingPlan = {
  events: PlannedEvent[];
  unplanned_events: (typeof unplanned_fates)[number];
};

/** Most events of a plan. */
export const planned_events_max = 1_000;
/** Most properties of a planned event. */
export const planned_properties_max = 100;

/** Most values of a planned property. */
export const planned_values_max = 100;
/** Longest text among the values of a planned property. */
export const planned_text_length_max = 200;

/** The difference of an event from the plan; `attr` is the place of the first one. */
export type Difference = { mode: PlannedEvent['mode']; attr: string; detail: string };

/** Most differences of an event that are listed. */
const named_max = 5;

/** Compares an event with the plan; undefined if it matches. */
export type PlanCheck = (event: string, properties: JsonObject) => Difference | undefined;

/**
 * Opens the comparison. Events and properties whose names begin with `$` belong to the SDKs: they
 * are only compared if the plan names them.
 */
export function openPlanCheck({ events, unplanned_events }: TrackingPlan): PlanCheck {
  const planned = new Map(
    events.map((one) => [one.event, { ...one, names: new Set(one.properties.map(nameOf)) }]),
  );
  return (event, properties) => {
    const plan = planned.get(event);
    if (plan === undefined) {
      if (unplanned_events === 'allow' || event.startsWith('$')) return undefined;
      return {
        mode: unplanned_events,
        attr: 'event',
        detail: 'The tracking plan has no such event.',
      };
    }
    const found: { name: string; is: string }[] = [];
    for (const { name, type, required, values } of plan.properties) {
      const value = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (value === undefined || value === null) {
        if (required) found.push({ name, is: 'is missing' });
      } else if (!isOf(type, value))
        found.push({ name, is: `is ${words[kindOf(value)]}, not ${words[type]}` });
      else if (values?.includes(plainOf(value)) === false)
        found.push({ name, is: 'has a value that is not in the plan' });
    }
    if (plan.other_properties === 'report')
      for (const name of Object.keys(properties))
        if (!name.startsWith('$') && !plan.names.has(name))
          found.push({ name, is: 'is not in the plan' });
    if (found.length === 0) return undefined;
    const told = found.slice(0, named_max).map(({ name, is }) => `\`${shortened(name)}\` ${is}`);
    const more = found.length > named_max ? `, and ${found.length - named_max} more` : '';
    const detail = `Differs from the plan: ${told.join(', ')}${more}.`;
    return { mode: plan.mode, attr: `properties__${shortened(found[0]!.name)}`, detail };
  };
}

const nameOf = ({ name }: { name: string }) => name;

const words = {
  any: 'any value',
  text: 'text',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  list: 'a list',
  object: 'an object',
} satisfies Record<(typeof property_types)[number], string>;

function kindOf(value: unknown): Exclude<(typeof property_types)[number], 'any' | 'integer'> {
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'number' || isNumberText(value)) return 'number';
  return Array.isArray(value) ? 'list' : 'object';
}

/** Returns a number in the plan's form; other values stay unchanged. */
function plainOf(value: unknown): string | number | boolean {
  return isNumberText(value) ? Number(JSON.stringify(value)) : (value as string);
}

function isOf(type: (typeof property_types)[number], value: unknown): boolean {
  if (type === 'any') return true;
  const kind = kindOf(value);
  if (type !== 'integer') return kind === type;
  return kind === 'number' && isInteger(typeof value === 'number' ? value : JSON.stringify(value));
}

/** `10.0` and `1e3` are integers; for digits beyond those of a double, the text decides. */
function isInteger(value: number | string): boolean {
  return /^-?\d+(\.0*)?$/.test(String(value)) || Number.isInteger(Number(value));
}

const name_length_max = 60;

function shortened(name: string): string {
  return name.length <= name_length_max
    ? name
    : `${name.slice(0, name_length_max).toWellFormed()}…`;
}

/** Returns true if the plan restricts nothing. */
export function isOpenPlan({ events, unplanned_events }: TrackingPlan): boolean {
  return events.length === 0 && unplanned_events === 'allow';
}
