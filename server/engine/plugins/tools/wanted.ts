import { hash } from 'node:crypto';
import type { PluginEvent } from '../running/read_events.ts';
import { toolEvent } from './event.ts';
import { failing, valueAt } from './filter/filter.ts';
import type { Filter, FilterCondition } from './filter/filter.ts';
import { readFilter } from './filter/read_filter.ts';
import type { ToolMapping } from './tool.ts';

/** The choice of events. */
export type EventChoice = Pick<ToolMapping, 'subscribe' | 'sample_percent' | 'consent'>;

const filters = new WeakMap<EventChoice, Filter | undefined>();

/** Returns the filter of a mapping; undefined for an unreadable text. */
export function filterOf(mapping: EventChoice): Filter | undefined {
  if (filters.has(mapping)) return filters.get(mapping);
  const read = readFilter(mapping.subscribe);
  const filter = typeof read === 'string' ? undefined : read;
  filters.set(mapping, filter);
  return filter;
}

/**
 * Returns why a mapping does not want an event, as a sentence; undefined: it does. Decides before
 * mapping: by the filter, which also sees names with `$`, by the consent, and by the sample, which
 * always contains the same persons. An unreadable filter excludes nothing here: the library
 * decides.
 */
export function unwantedReason(mapping: EventChoice, event: PluginEvent): string | undefined {
  const filter = filterOf(mapping);
  const called = toolEvent(event, true);
  const failed = filter && failing(filter, called);
  if (failed !== undefined) return describe(failed, called);
  const { consent, sample_percent } = mapping;
  if (consent !== undefined && !hasConsent(called, consent))
    return `The event does not say that the person consented to ${consent}.`;
  if (sample_percent !== undefined && !isSampled(event.person.id, sample_percent))
    return `The person is not among the ${sample_percent} % of the sample.`;
  return undefined;
}

/**
 * Returns true if the event, in the form of the tools, contains its person's consent to the
 * category.
 */
function hasConsent(event: object, category: string): boolean {
  return valueAt(event, ['context', 'consent', 'categoryPreferences', category]) === true;
}

/** Returns true for this share of all persons; a smaller share is a subset of a larger one. */
export function isSampled(person_id: string, percent: number): boolean {
  return parseInt(hash('sha256', person_id).slice(0, 8), 16) < (percent / 100) * 2 ** 32;
}

const words: Record<string, string> = {
  is: '=',
  is_not: '!=',
  exists: 'a value',
  not_exists: 'no value',
};

function describe({ path, operator, value }: FilterCondition, event: object): string {
  const actual = valueAt(event, path);
  const shown = actual === undefined ? 'missing' : (JSON.stringify(actual) ?? '').slice(0, 200);
  const wanted = words[operator] ?? operator.replaceAll('_', ' ');
  return (
    `The filter does not match: ${path.join('.')} is ${shown}, and it wants ${wanted}` +
    `${value === null ? '' : ` ${JSON.stringify(value)}`}.`
  );
}
