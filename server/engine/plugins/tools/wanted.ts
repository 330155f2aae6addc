import { hash } from 'node:crypto';
import type { PluginEvent } from '../running/read_events.ts';
import { toolEvent } from './event.ts';
import { failing, valueAt } from './filter/filter.ts';
import type { Filter, FilterCondition } from './filter/filter.ts';
import { readFilter } from './filter/read_filter.ts';
import type { ToolMapping } from './tool.ts';

/** The events that are wanted. */
export type EventChoice = Pick<ToolMapping, 'subscribe' | 'sample_percent' | 'consent'>;

const filters = new WeakMap<EventChoice, Filter | undefined>();

/** The filter of a mapping; undefined for a text that cannot be read. */
export function filterOf(mapping: EventChoice): Filter | undefined {
  if (filters.has(mapping)) return filters.get(mapping);
  const read = readFilter(mapping.subscribe);
  const filter = typeof read === 'string' ? undefined : read;
  filters.set(mapping, filter);
  return filter;
}

/**
 * Returns why a mapping does not take an event, as a sentence; undefined: it does. Decides before
 * anything is mapped: by the filter, which also sees names with `$`, by the consent, and by the
 * sample, which has the same persons at each event. A filter that cannot be read keeps nothing out
 * here: it is left to the library.
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

/** True if the event, in the form of the tools, says that its person consented to the category. */
function hasConsent(event: object, category: string): boolean {
  return valueAt(event, ['context', 'consent', 'categoryPreferences', category]) === true;
}

/** True for so many of all persons; those of a smaller share are among those of a larger one. */
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
