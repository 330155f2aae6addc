import type { PluginChoices } from '../../../../server/api/plugin_configs/choices/schema.ts';
import type { ToolFile } from '../../../../server/api/plugins/schema.ts';

/** A field of an action. */
export type ActionField = ToolFile['actions'][string]['fields'][string];

/** The label of a field, as forms show it. */
export function labelOf(key: string, { label = key, required }: ActionField): string {
  return required === true ? `${label} (required)` : label;
}

/** A value that a tool offers for a field. */
export type ToolChoice = PluginChoices['choices'][number];

/** Returns true if a field's conditions are true for the mapping's values. */
export function isAsked(
  { depends_on }: Pick<ActionField, 'depends_on'>,
  mapping: Record<string, unknown>,
): boolean {
  if (depends_on === undefined) return true;
  const holds = ({ fieldKey, operator, value }: (typeof depends_on.conditions)[number]) => {
    const wanted: unknown[] = Array.isArray(value) ? value : [value];
    return wanted.includes(mapping[fieldKey]) === (operator === 'is');
  };
  return depends_on.match === 'any'
    ? depends_on.conditions.some(holds)
    : depends_on.conditions.every(holds);
}

/** Returns the choices of a field, if it has any. */
export function choicesOf({ type, choices = [] }: ActionField): { value: string; label: string }[] {
  if (type === 'boolean') return ['true', 'false'].map((one) => ({ value: one, label: one }));
  return choices.map((one) => (typeof one === 'string' ? { value: one, label: one } : one));
}

/** Choices whose name or value has the text; all of them for a text that is one of the values. */
export function matchingChoices(choices: ToolChoice[], text: string): ToolChoice[] {
  const wanted = text.trim().toLowerCase();
  if (choices.some(({ value }) => value === text)) return choices;
  return choices.filter(({ value, label }) => `${label}\n${value}`.toLowerCase().includes(wanted));
}
