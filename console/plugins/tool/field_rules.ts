import type { ToolFile } from '../../../server/api/plugins/schema.ts';

/** A field of an action. */
export type ActionField = ToolFile['actions'][string]['fields'][string];

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
