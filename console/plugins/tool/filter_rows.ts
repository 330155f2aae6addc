import type {
  Filter,
  FilterCondition,
  FilterGroup,
  FilterOperator,
} from '../../../server/api/plugin_configs/preview/schema.ts';

/** A row of the form: a field of the event, and the condition for its value. */
export type FilterRow = { field: string; operator: FilterOperator | 'one_of'; value: string };
/** A filter in the form. */
export type FilterRows = { match: 'all' | 'any'; rows: FilterRow[] };

/** The operators with their words, in the form's order. */
export const operators: { value: FilterRow['operator']; label: string }[] = [
  { value: 'is', label: 'is' },
  { value: 'is_not', label: 'is not' },
  { value: 'one_of', label: 'is one of' },
  { value: 'contains', label: 'contains' },
  { value: 'not_contains', label: 'does not contain' },
  { value: 'starts_with', label: 'begins with' },
  { value: 'not_starts_with', label: 'does not begin with' },
  { value: 'ends_with', label: 'ends with' },
  { value: 'not_ends_with', label: 'does not end with' },
  { value: 'exists', label: 'has a value' },
  { value: 'not_exists', label: 'has no value' },
  { value: '>', label: 'is more than' },
  { value: '>=', label: 'is at least' },
  { value: '<', label: 'is less than' },
  { value: '<=', label: 'is at most' },
];

/** Returns true if the operator compares with a value. */
export function wantsValue(operator: FilterRow['operator']): boolean {
  return operator !== 'exists' && operator !== 'not_exists';
}

/** The filter of every event. */
const every_event = 'type != ""';

/** Returns the rows of a filter; undefined if the form cannot show its groups. */
export function rowsOf(group: FilterGroup): FilterRows | undefined {
  const whole = oneOf(group);
  if (whole !== undefined) return { match: 'all', rows: [whole] };
  const rows = group.filters
    .filter((one) => !isEveryEvent(one))
    .map((one) => ('filters' in one ? oneOf(one) : rowOf(one)));
  return rows.every((row) => row !== undefined) ? { match: group.match, rows } : undefined;
}

function isEveryEvent(one: Filter): boolean {
  return 'path' in one && one.path.join() === 'type' && one.operator === 'is_not' && !one.value;
}

/** Returns several values of one field if any may match. */
function oneOf({ match, filters }: FilterGroup): FilterRow | undefined {
  const fields = new Set(filters.map((one) => ('path' in one ? fieldOf(one.path) : '')));
  const [field = ''] = fields;
  const values = filters.map((one) => ('path' in one && one.operator === 'is' ? one.value : null));
  const isList =
    match === 'any' &&
    filters.length > 1 &&
    fields.size === 1 &&
    field !== '' &&
    values.every((value) => value !== null && !String(value).includes(','));
  return isList
    ? { field, operator: 'one_of', value: values.map(shownValue).join(', ') }
    : undefined;
}

function rowOf({ path, operator, value }: FilterCondition): FilterRow {
  return { field: fieldOf(path), operator, value: shownValue(value) };
}

function fieldOf(path: string[]): string {
  return path.map((name) => name.replaceAll(/[\\.\s()[\],=!<>"']/g, '\\$&')).join('.');
}

/** Returns a value as text; text that looks like another type is quoted. */
function shownValue(value: FilterCondition['value']): string {
  if (typeof value !== 'string') return value === null ? '' : String(value);
  return isPlainText(value) ? value : JSON.stringify(value);
}

function isPlainText(text: string): boolean {
  return text !== '' && text.trim() === text && !isWord(text) && !/^["']|[\\]/.test(text);
}

/** Returns true for a number, `true` or `false`. */
function isWord(text: string): boolean {
  return /^(?:[+-]?\d+(?:\.\d+)?|true|false)$/.test(text);
}

/** Returns the rows as FQL, without incomplete rows. */
export function filterText({ match, rows }: FilterRows): string {
  const parts = rows.flatMap((row) => partsOf(row));
  if (parts.length === 0) return every_event;
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only.replace(/^\((.*)\)$/s, '$1');
  return parts.join(match === 'all' ? ' and ' : ' or ');
}

function partsOf({ field, operator, value }: FilterRow): string[] {
  const name = field.trim().replaceAll(/(?<!\\)[\s(),=!<>"']/g, '\\$&');
  if (name === '' || (wantsValue(operator) && value.trim() === '')) return [];
  if (operator === 'exists') return [`${name} != null`];
  if (operator === 'not_exists') return [`${name} = null`];
  if (operator === 'one_of') {
    const values = value.split(',').map((one) => one.trim());
    const wanted = values.filter((one) => one !== '').map((one) => `${name} = ${valueText(one)}`);
    return [wanted.length === 1 ? wanted[0]! : `(${wanted.join(' or ')})`];
  }
  if (operator === 'is') return [`${name} = ${valueText(value)}`];
  if (operator === 'is_not') return [`${name} != ${valueText(value)}`];
  if (['<', '<=', '>', '>='].includes(operator)) return [`${name} ${operator} ${valueText(value)}`];
  const mark = operator.startsWith('not_') ? '!' : '';
  const text = plainText(value);
  if (operator.endsWith('contains')) return [`${mark}contains(${name}, ${quoted(text)})`];
  const pattern = operator.endsWith('starts_with') ? `${text}*` : `*${text}`;
  return [`${mark}match(${name}, ${quoted(pattern)})`];
}

/** Returns a number, true or false unchanged; everything else as quoted text. */
function valueText(typed: string): string {
  const text = typed.trim();
  return isWord(text) ? text : quoted(plainText(text));
}

function plainText(typed: string): string {
  const text = typed.trim();
  const inner = /^"(.*)"$/s.exec(text)?.[1];
  return inner === undefined ? text : inner.replaceAll(/\\(["\\])/g, '$1');
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}
