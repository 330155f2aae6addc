import { widens } from '../../model/schema/property_type.ts';
import type { PropertyType } from '../../model/schema/property_type.ts';
import type { ValueKind } from './value_kind.ts';

/** Fewer values do not show a type, least of all one. */
const proposed_values_min = 10;
/** A type other than `json` is proposed only if this share of the values fits it. */
const fitting_share_min = 0.9;

/** The number of a property's values of each kind. */
export type KindCounts = Partial<Record<ValueKind, number>>;

/** A proposed type for a property: of `values`, `misfits` would go into the rest column. */
export type Proposal = { type: PropertyType; values: number; misfits: number };

/** The kinds whose values a column of the type stores unchanged. */
const fitting: Record<PropertyType, readonly ValueKind[]> = {
  boolean: ['boolean'],
  integer: ['integer', 'long_integer'],
  float: ['integer', 'float'],
  timestamp: ['timestamp'],
  text: ['text', 'timestamp'],
  json: [
    'boolean',
    'integer',
    'long_integer',
    'float',
    'large_number',
    'timestamp',
    'text',
    'object',
    'array',
  ],
};

/** Returns the number of values for a column: all except null, which no type accepts. */
export function valuesOf(kinds: KindCounts): number {
  return sum(kinds, fitting.json);
}

/** Returns how many of the values a column of the type leaves to the rest column. */
export function misfitsOf(type: PropertyType, kinds: KindCounts): number {
  return valuesOf(kinds) - sum(kinds, fitting[type]);
}

/**
 * Returns the type that fits the values of a property; undefined if there are too few. A number
 * counts as an integer only if all numbers are: for their sender, 10 and 10.0 are one number.
 * Values that only look like another type are text: "true", "007", dates. Lists, objects and
 * mixtures are JSON.
 */
export function propose(kinds: KindCounts): Proposal | undefined {
  const values = valuesOf(kinds);
  if (values < proposed_values_min) return undefined;
  const number = sum(kinds, ['float', 'large_number']) > 0 ? 'float' : 'integer';
  const best = (['boolean', number, 'text'] as const)
    .map((type) => ({ type, misfits: misfitsOf(type, kinds) }))
    .toSorted((one, other) => one.misfits - other.misfits)[0]!;
  return values - best.misfits >= values * fitting_share_min
    ? { ...best, values }
    : { type: 'json', values, misfits: 0 };
}

/**
 * Returns the types that a person may choose instead: those that fit more of the values, and dates
 * if all texts are dates.
 */
export function otherTypes(type: PropertyType, kinds: KindCounts): PropertyType[] {
  const misfits = misfitsOf(type, kinds);
  const are_dates = type === 'text' && (kinds.timestamp ?? 0) > 0 && kinds.text === undefined;
  const wider = (['float', 'text', 'json'] as const).filter(
    (other) => widens(type, other) && misfitsOf(other, kinds) < misfits,
  );
  return [...(are_dates ? (['timestamp'] as const) : []), ...wider];
}

function sum(kinds: KindCounts, wanted: readonly ValueKind[]): number {
  return wanted.reduce((total, kind) => total + (kinds[kind] ?? 0), 0);
}
