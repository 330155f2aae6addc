import type { Deps } from '../../../deps.ts';
import { isFields } from '../../../platform/fields.ts';
import { oneLine } from '../../../platform/mail/plain_text.ts';
import { baseUrl } from '../calling.ts';
import { ScimRefused } from '../refusal.ts';
import { booleanOf, externalIdOf, textOf } from '../sent.ts';
import type { Operation } from '../sent.ts';
import type { CallingDirectory } from '../tokens/store.ts';
import type { SentName } from './user_name.ts';
import type { PersonRow } from './user_store.ts';

/** The fields of a person that a request sets. */
export type UserChange = SentName & {
  first_name?: string;
  last_name?: string;
  external_id?: string | null;
  is_active?: boolean;
};

/** The schema of people (RFC 7643, 4.1). */
export const user_schema = 'urn:ietf:params:scim:schemas:core:2.0:User';

const name_length_max = 150;

/** Returns the combined effect of all operations; ignores attributes that are not stored. */
export function readUserChange(operations: Operation[]): UserChange {
  const change: UserChange = {};
  for (const operation of operations) {
    const { kind, path } = operation;
    if (path.attribute === 'username') change.user_name = requiredOf(operation);
    else if (path.attribute === 'active') change.is_active = booleanOf(kept(operation));
    else if (path.attribute === 'externalid') change.external_id = externalIdOf(operation);
    else if (path.attribute === 'name.givenname') change.first_name = nameOf(operation);
    else if (path.attribute === 'name.familyname') change.last_name = nameOf(operation);
    else if (path.attribute === 'name' && kind === 'remove')
      Object.assign(change, { first_name: '', last_name: '' });
    else if (/^emails(\.value)?$/.test(path.attribute) && kind !== 'remove')
      change.emails = addressesOf(operation);
  }
  return change;
}

/** Reads a whole resource: without a `userName`, the primary address replaces it. */
export function readWholeUser(operations: Operation[]): UserChange {
  const { emails, ...change } = readUserChange(operations);
  if (emails === undefined) return change;
  return { user_name: emails[0]!, ...change, emails };
}

/** Returns the sent addresses, the primary one first; undefined if there are none. */
function addressesOf({ value }: Operation): string[] | undefined {
  const sent = (Array.isArray(value) ? value : [value]) as unknown[];
  const primary = (one: unknown) => isFields(one) && one['primary'] === true;
  const addresses = [...sent.filter(primary), ...sent.filter((one) => !primary(one))]
    .map((one) => (isFields(one) ? one['value'] : one))
    .filter((one) => typeof one === 'string');
  return addresses.length === 0 ? undefined : addresses;
}

function requiredOf(operation: Operation): string {
  return textOf(kept(operation)) ?? '';
}

/** Throws 400 for the removal of a required attribute. */
function kept(operation: Operation): Operation {
  if (operation.kind !== 'remove') return operation;
  throw new ScimRefused(400, 'mutability', 'userName and active cannot be removed, only replaced.');
}

function nameOf(operation: Operation): string {
  return oneLine(textOf(operation) ?? '')
    .slice(0, name_length_max)
    .toWellFormed();
}

/** Returns a person in the form that a directory gets. */
export function userResource(
  config: Deps['config'],
  { domain_id }: CallingDirectory,
  person: PersonRow,
) {
  const { uuid, email, user_name, external_id, first_name, last_name, groups } = person;
  const base_url = baseUrl(config, domain_id);
  const full_name = `${first_name} ${last_name}`.trim();
  const name = {
    ...(first_name === '' ? {} : { givenName: first_name }),
    ...(last_name === '' ? {} : { familyName: last_name }),
  };
  return {
    schemas: [user_schema],
    id: uuid,
    ...(external_id === null ? {} : { externalId: external_id }),
    userName: user_name ?? email,
    ...(full_name === '' ? {} : { name }),
    displayName: full_name === '' ? (user_name ?? email) : full_name,
    emails: [{ value: email, type: 'work', primary: true }],
    active: person.member_id !== null && person.is_account_active,
    groups: groups.map((group) => ({ ...group, $ref: `${base_url}/Groups/${group.value}` })),
    meta: {
      resourceType: 'User',
      created: person.created_at,
      lastModified: person.updated_at,
      location: `${base_url}/Users/${uuid}`,
    },
  };
}
