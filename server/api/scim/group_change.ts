import { oneLine } from '../../platform/mail/plain_text.ts';
import { isFields } from '../../platform/fields.ts';
import { isUuid } from '../../platform/uuid.ts';
import { ScimRefused, invalidValue } from './refusal.ts';
import { externalIdOf, textOf } from './sent.ts';
import type { Operation } from './sent.ts';

/** What of a group a request sets. With `is_whole` its members are `added` and nobody else. */
export type GroupChange = {
  display_name?: string;
  external_id?: string | null;
  is_whole: boolean;
  added: Set<string>;
  removed: Set<string>;
};

const name_length_max = 255;

/** What the operations set in all, in their order. */
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
  throw invalidValue(`displayName has to be a text of 1 to ${name_length_max} characters.`);
}

function changeMembers(change: GroupChange, { kind, path, value }: Operation): void {
  const { selection } = path;
  const selected =
    selection.length === 0
      ? undefined
      : selection.map(({ attribute, value: id }) => (attribute === 'value' ? id : undefined));
  const ids = selected ?? (value === undefined || value === null ? undefined : listOf(value));
  if (kind === 'replace' && selected === undefined) {
    Object.assign(change, { is_whole: true, added: new Set(), removed: new Set() });
    for (const id of uuidsOf(ids ?? [])) change.added.add(id);
  } else if (kind === 'remove' && ids === undefined)
    Object.assign(change, { is_whole: true, added: new Set(), removed: new Set() });
  else
    for (const id of uuidsOf(ids ?? [])) {
      const [to, from] =
        kind === 'remove' ? (['removed', 'added'] as const) : (['added', 'removed'] as const);
      change[to].add(id);
      change[from].delete(id);
    }
}

function listOf(value: unknown): unknown[] {
  return (Array.isArray(value) ? value : [value]).map((one: unknown) =>
    isFields(one) ? one['value'] : one,
  );
}

function uuidsOf(values: readonly unknown[]): string[] {
  return values.map((value) => {
    if (typeof value === 'string' && isUuid(value)) return value.toLowerCase();
    throw invalidValue('A member of a group is named by the id of a User, as its value.');
  });
}
