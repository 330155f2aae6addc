import { oneLine } from '../../../platform/mail/plain_text.ts';
import { isFields } from '../../../platform/fields.ts';
import { isUuid } from '../../../platform/uuid.ts';
import { ScimRefused, invalidValue } from '../refusal.ts';
import { externalIdOf, textOf } from '../sent.ts';
import type { Operation } from '../sent.ts';

/**
 * The fields of a group that a request sets. With `is_whole`, its members become exactly `added`.
 */
export type GroupChange = {
  display_name?: string;
  external_id?: string | null;
  is_whole: boolean;
  added: Set<string>;
  removed: Set<string>;
};

const name_length_max = 255;
/** With `places_max`, limits a list of all groups with their people to some 20 MB. */
const groups_max = 1_000;
const places_max = 200_000;

/** Returns the combined effect of the operations, in order. */
export function readGroupChange(operations: Operation[]): GroupChange {
  const change: GroupChange = { is_whole: false, added: new Set(), removed: new Set() };
  for (const operation of operations) {
    const { attribute } = operation.path;
    if (attribute === 'displayname') change.display_name = displayNameOf(operation);
    else if (attribute === 'externalid') change.external_id = externalIdOf(operation);
    else if (attribute === 'members') changeMembers(change, operation);
  }
  return change;
}

function displayNameOf(operation: Operation): string {
  if (operation.kind === 'remove')
    throw new ScimRefused(400, 'mutability', 'displayName cannot be removed, only replaced.');
  const name = oneLine(textOf(operation) ?? '');
  if (name !== '' && name.length <= name_length_max) return name;
  throw invalidValue(`displayName must be a text of 1 to ${name_length_max} characters.`);
}

function changeMembers(change: GroupChange, { kind, path, value }: Operation): void {
  const { selection } = path;
  const is_selected = selection.length > 0;
  const is_empty = value === undefined || value === null;
  if (!is_selected && (kind === 'replace' || (kind === 'remove' && is_empty)))
    Object.assign(change, { is_whole: true, added: new Set(), removed: new Set() });
  const ids = is_selected
    ? selection.map(({ attribute, value: id }) => (attribute === 'value' ? id : undefined))
    : is_empty
      ? []
      : listOf(value);
  const { added, removed } = change;
  const [to, from] = kind === 'remove' ? [removed, added] : [added, removed];
  for (const id of uuidsOf(ids)) {
    to.add(id);
    from.delete(id);
  }
}

function listOf(value: unknown): unknown[] {
  return (Array.isArray(value) ? value : [value]).map((one: unknown) => {
    if (!isFields(one)) return one;
    const { value: id, $ref } = one;
    return id ?? (typeof $ref === 'string' ? /\/Users\/([^/]+)$/.exec($ref)?.[1] : undefined);
  });
}

function uuidsOf(values: readonly unknown[]): string[] {
  return values.map((value) => {
    if (typeof value === 'string' && isUuid(value)) return value.toLowerCase();
    throw invalidValue("The value of a group's member must be the id of a User.");
  });
}

/** Throws 400 if a directory has too many groups, or too many people in them. */
export function refuseTooMany({ groups, places }: { groups: number; places: number }): void {
  const told = (most: number, what: string) =>
    invalidValue(
      `A directory has at most ${most.toLocaleString('en')} ${what}: push only the groups ` +
        'that set levels here.',
    );
  if (groups > groups_max) throw told(groups_max, 'groups');
  if (places > places_max) throw told(places_max, 'members in all of its groups together');
}
