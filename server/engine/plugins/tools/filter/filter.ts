import { isFields } from '../../../../platform/fields.ts';

/** The comparison of a condition. */
export type FilterOperator =
  | 'is'
  | 'is_not'
  | 'contains'
  | 'not_contains'
  | 'starts_with'
  | 'not_starts_with'
  | 'ends_with'
  | 'not_ends_with'
  | 'exists'
  | 'not_exists'
  | '<'
  | '<='
  | '>'
  | '>=';

/** A condition on one value of an event; `value` is null if the operator needs none. */
export type FilterCondition = {
  path: string[];
  operator: FilterOperator;
  value: string | number | boolean | null;
};

/** The filter of a mapping: conditions that must all match, or any. */
export type FilterGroup = { match: 'all' | 'any'; filters: Filter[] };
/** A condition, or a group of them. */
export type Filter = FilterCondition | FilterGroup;

/** Returns true for an event that the filter passes; `event` is in the form of the tools. */
export function holds(filter: Filter, event: object): boolean {
  if ('filters' in filter)
    return filter.match === 'all'
      ? filter.filters.every((one) => holds(one, event))
      : filter.filters.some((one) => holds(one, event));
  return compare(valueAt(event, filter.path), filter.operator, filter.value);
}

/** Returns the first condition that excludes the event; undefined: the filter passes it. */
export function failing(filter: Filter, event: object): FilterCondition | undefined {
  if (holds(filter, event)) return undefined;
  if (!('filters' in filter)) return filter;
  const failed = filter.filters.map((one) => failing(one, event));
  return failed.find((one) => one !== undefined);
}

/** Returns the value at a path; undefined if none exists. Positions refer to lists. */
export function valueAt(root: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      (isFields(value) || Array.isArray(value)) && Object.hasOwn(value, key)
        ? (value as Record<string, unknown>)[key]
        : undefined,
    root,
  );
}

/** Compares like the field: texts with texts, numbers with numbers, without conversion. */
function compare(
  actual: unknown,
  operator: FilterOperator,
  wanted: FilterCondition['value'],
): boolean {
  if (operator === 'exists') return actual !== undefined && actual !== null;
  if (operator === 'not_exists') return actual === undefined || actual === null;
  if (operator === 'is') return actual === wanted;
  if (operator === 'is_not')
    // A number only differs from numbers.
    return typeof wanted === 'number'
      ? typeof actual === 'number' && actual !== wanted
      : actual !== wanted;
  if (operator === '<' || operator === '<=' || operator === '>' || operator === '>=')
    return typeof actual === 'number' && inOrder(actual, operator, Number(wanted));
  if (typeof actual !== 'string') return false;
  const isNot = operator.startsWith('not_');
  return isNot !== hasPart(actual, operator, String(wanted));
}

function inOrder(actual: number, operator: '<' | '<=' | '>' | '>=', wanted: number): boolean {
  if (operator === '<') return actual < wanted;
  if (operator === '<=') return actual <= wanted;
  return operator === '>' ? actual > wanted : actual >= wanted;
}

function hasPart(actual: string, operator: FilterOperator, wanted: string): boolean {
  if (operator.endsWith('contains')) return actual.includes(wanted);
  return operator.endsWith('starts_with') ? actual.startsWith(wanted) : actual.endsWith(wanted);
}
