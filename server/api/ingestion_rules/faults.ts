import { fixed_names, holder_names } from '../../engine/ingest/rules/rule.ts';
import type { Violation } from '../../platform/http/errors.ts';
import type { IngestionRuleFields } from './schema.ts';

/**
 * Returns the faults of a whole rule: missing parts of its action, and changes that no rule may
 * make.
 */
export function ruleFaults(rule: IngestionRuleFields): Violation[] {
  const { action, property, target, new_name, value, events } = rule;
  const found: Violation[] = [];
  const wrong = (attr: string, detail: string, code: Violation['code'] = 'invalid_input') =>
    found.push({ attr, code, detail });
  for (const [index, name] of events.entries())
    if (name.slice(0, -1).includes('*'))
      wrong(`events__${index}`, 'A `*` is only allowed at the end of a name.');
  const needs = (attr: 'property' | 'new_name' | 'value', actions: string[]) => {
    const is_needed = actions.includes(action);
    if (is_needed && rule[attr] === null) wrong(attr, `\`${action}\` needs it.`, 'required');
    if (!is_needed && rule[attr] !== null)
      wrong(attr, `\`${action}\` does not use this field: send null.`);
  };
  needs('property', ['drop_property', 'hash_property', 'rename_property', 'set_property']);
  needs('new_name', ['rename_property']);
  needs('value', ['set_property']);
  if (property !== null) wrongName(action, property, (detail) => wrong('property', detail));
  if (new_name !== null) {
    wrongName('set_property', new_name, (detail) => wrong('new_name', detail));
    if (new_name === property) wrong('new_name', 'The property already has this name.');
  }
  if (typeof value === 'number' && !Number.isFinite(value)) wrong('value', 'Must be a number.');
  if (action === 'set_property' && target === 'any')
    wrong('target', 'Choose one place for the property: `event`, `person` or `group`.');
  return found;
}

function wrongName(
  action: IngestionRuleFields['action'],
  name: string,
  wrong: (detail: string) => void,
): void {
  const may_match = action === 'drop_property' || action === 'hash_property';
  if (fixed_names.includes(name))
    wrong('Rules never change `uuid`, `timestamp` and `distinct_id` of an event.');
  else if (holder_names.includes(name) && action !== 'drop_property')
    wrong('This property contains others: name one of them, or drop it.');
  else if (name === '__proto__') wrong('No property can have this name.');
  else if ((may_match ? name.slice(0, -1) : name).includes('*'))
    wrong(
      may_match
        ? 'A `*` is only allowed at the end of the name.'
        : 'Name one property, without `*`.',
    );
}
