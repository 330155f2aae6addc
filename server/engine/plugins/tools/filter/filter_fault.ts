import type { Filter, FilterCondition } from './filter.ts';
import { readFilter } from './read_filter.ts';

/** The kinds of calls that have a field; other fields belong to all. */
const owners: Record<string, string[]> = {
  event: ['track'],
  name: ['page', 'screen'],
  category: ['page', 'screen'],
  traits: ['identify', 'group'],
  properties: ['track', 'page', 'screen'],
  previousId: ['alias'],
};

/** Returns why a filter is unreadable or passes no event; undefined: it is valid. */
export function filterFault(text: string): string | undefined {
  const filter = readFilter(text);
  if (typeof filter === 'string') return filter;
  const reason = emptyReason(filter);
  return reason === undefined ? undefined : `The filter matches no event: ${reason}`;
}

/** Returns why no event can match, as the end of a sentence; undefined: some may. */
function emptyReason(filter: Filter): string | undefined {
  if (!('filters' in filter)) return undefined;
  const reasons = filter.filters.map(emptyReason);
  if (filter.match === 'any')
    return reasons.every((reason) => reason !== undefined) ? reasons[0] : undefined;
  return reasons.find((reason) => reason !== undefined) ?? contradiction(conditionsOf(filter));
}

/** Returns all conditions that must match together. */
function conditionsOf(filter: Filter): FilterCondition[] {
  if (!('filters' in filter)) return [filter];
  return filter.match === 'all' || filter.filters.length === 1
    ? filter.filters.flatMap(conditionsOf)
    : [];
}

function contradiction(conditions: FilterCondition[]): string | undefined {
  const values = new Map<string, FilterCondition['value']>();
  for (const { path, operator, value } of conditions) {
    if (operator !== 'is') continue;
    const name = path.join('.');
    if (values.has(name) && values.get(name) !== value)
      return `${name} cannot be both ${String(values.get(name))} and ${String(value)}.`;
    values.set(name, value);
  }
  const type = values.get('type');
  const missing = conditions.find(({ path: [field = ''], operator }) => {
    const isOfOthers = typeof type === 'string' && owners[field]?.includes(type) === false;
    return isOfOthers && operator !== 'is_not' && operator !== 'not_exists';
  });
  return (
    missing &&
    `events of the type ${String(type)} have no ${missing.path[0]}. ` +
      `The type of those that have it is ${owners[missing.path[0]!]!.join(' or ')}.`
  );
}
