import type { IngestionRuleRow } from '../../server/api/ingestion_rules/schema.ts';
import { counted } from '../page/text/quantities.ts';

/** The actions of a rule, as choices of a form. */
export const action_choices: { value: IngestionRuleRow['action']; label: string }[] = [
  { value: 'drop_property', label: 'Drop property' },
  { value: 'hash_property', label: 'Hash property' },
  { value: 'rename_property', label: 'Rename property' },
  { value: 'set_property', label: 'Set property' },
  { value: 'drop_event', label: 'Drop event' },
];

/** The places of a property. */
export const target_choices: { value: IngestionRuleRow['target']; label: string }[] = [
  { value: 'any', label: 'Event, person and group' },
  { value: 'event', label: 'Event' },
  { value: 'person', label: 'Person' },
  { value: 'group', label: 'Group' },
];

const of_target = {
  any: '',
  event: ' of the event',
  person: ' of the person',
  group: ' of the group',
};

type Told = Pick<
  IngestionRuleRow,
  'action' | 'property' | 'target' | 'new_name' | 'value' | 'only_if_missing'
>;

/** Describes a rule in a sentence; names are in backticks. */
export function ruleWords(rule: Told): string {
  const { action, property, target, new_name, value, only_if_missing } = rule;
  const name = `\`${property}\`${of_target[target]}`;
  switch (action) {
    case 'drop_event':
      return 'Drop the event';
    case 'drop_property':
      return `Drop ${name}`;
    case 'hash_property':
      return `Hash ${name}`;
    case 'rename_property':
      return `Rename ${name} to \`${new_name}\``;
    case 'set_property':
      return `Set ${name} to \`${JSON.stringify(value)}\`${only_if_missing ? ' if missing' : ''}`;
  }
}

/** Returns the names of a rule's events. */
export function eventWords(events: readonly string[]): string {
  const [first, ...others] = events;
  if (first === undefined) return 'All events';
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}

/** Returns how many events a rule changed or dropped. */
export function countWords(action: IngestionRuleRow['action'], events: number): string {
  return `${counted(events, 'event')} ${action === 'drop_event' ? 'dropped' : 'changed'}`;
}

/** Sums the events by source. */
export function eventsBySource(results: readonly { source: string; events: number }[]) {
  const by_source = new Map<string, number>();
  for (const { source, events } of results)
    by_source.set(source, (by_source.get(source) ?? 0) + events);
  return by_source;
}

/** Returns the typed names, one per line. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Returns the typed constant: a number, true, false, a text in quotes, or else the text itself. */
export function constantOf(text: string): string | number | boolean {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string')
      return value;
  } catch {
    // A text without quotes.
  }
  return text;
}

/** Returns the constant as typed text. */
export function typedConstant(value: IngestionRuleRow['value']): string {
  if (value === null) return '';
  return typeof value === 'string' && constantOf(value) === value ? value : JSON.stringify(value);
}

/** Returns the ids after the rule at the position was swapped with the one before. */
export function movedUp(ids: readonly string[], at: number): string[] {
  const moved = [...ids];
  [moved[at - 1], moved[at]] = [moved[at]!, moved[at - 1]!];
  return moved;
}
