import type { Deps } from '../../deps.ts';
import { isFields } from '../../platform/fields.ts';
import { oneLine } from '../../platform/mail/plain_text.ts';
import { domainOf, isAddress, withPlainDomain } from '../../platform/mail/mailbox.ts';
import { baseUrl } from './calling.ts';
import { ScimRefused, invalidValue } from './refusal.ts';
import { booleanOf, externalIdOf, textOf } from './sent.ts';
import type { Operation } from './sent.ts';
import type { CallingDirectory } from './store.ts';
import type { PersonRow } from './user_store.ts';

/** What of a person a request sets. */
export type UserChange = {
  /** As it was sent: `addressOf` says whether it can be one. */
  email?: string;
  first_name?: string;
  last_name?: string;
  external_id?: string | null;
  is_active?: boolean;
};

/** The schema of people (RFC 7643, 4.1). */
export const user_schema = 'urn:ietf:params:scim:schemas:core:2.0:User';

const name_length_max = 150;
const address_length_max = 254;

/**
 * What the operations set in all; attributes that are not kept here are passed over. Addresses of
 * `emails` stand in for a `userName` that a whole resource has not.
 */
export function readUserChange(operations: Operation[]): UserChange {
  const change: UserChange = {};
  for (const operation of operations) {
    const { kind, path } = operation;
    if (path.attribute === 'username') change.email = requiredOf(operation);
    else if (path.attribute === 'active') change.is_active = booleanOf(kept(operation));
    else if (path.attribute === 'externalid') change.external_id = externalIdOf(operation);
    else if (path.attribute === 'name.givenname') change.first_name = nameOf(operation);
    else if (path.attribute === 'name.familyname') change.last_name = nameOf(operation);
    else if (path.attribute === 'name' && kind === 'remove')
      Object.assign(change, { first_name: '', last_name: '' });
  }
  return change;
}

/** The address in the `emails` of a whole resource: the primary one, else the first. */
export function addressSent(operations: Operation[]): string | undefined {
  const list = operations.find(({ path }) => path.attribute === 'emails')?.value;
  const emails = Array.isArray(list) ? list.filter(isFields) : [];
  const found = emails.find(({ primary }) => primary === true) ?? emails[0];
  return typeof found?.['value'] === 'string' ? found['value'] : undefined;
}

function requiredOf(operation: Operation): string {
  return textOf(kept(operation)) ?? '';
}

/** Throws 400 for the removal of what nobody is without. */
function kept(operation: Operation): Operation {
  if (operation.kind !== 'remove') return operation;
  throw new ScimRefused(400, 'mutability', 'userName and active cannot be removed, only replaced.');
}

/**
 * The address that a text is, of the directory's domain; throws 400 for any other. Plain ASCII, so
 * that no letters look, or compare, like those of somebody else.
 */
export function addressOf({ domain }: CallingDirectory, text: string): string {
  const address = withPlainDomain(text.trim());
  const is_plain = /^[!-~]+$/.test(address) && address.length <= address_length_max;
  if (!is_plain || !isAddress(address))
    throw invalidValue(
      'userName has to be the e-mail address of the person, in ASCII: let the directory send the ' +
        'address as userName.',
    );
  if (domainOf(address) === domain) return address;
  throw invalidValue(
    `${address} is not an address of ${domain}, for which alone this directory speaks: claim ` +
      'its domain as well, and give it a directory of its own, or invite the person.',
  );
}

function nameOf(operation: Operation): string {
  return oneLine(textOf(operation) ?? '')
    .slice(0, name_length_max)
    .toWellFormed();
}

/** A person as a directory is answered. */
export function userResource(
  config: Deps['config'],
  { domain_id }: CallingDirectory,
  person: PersonRow,
) {
  const { uuid, email, external_id, first_name, last_name, groups } = person;
  const formatted = `${first_name} ${last_name}`.trim();
  return {
    schemas: [user_schema],
    id: uuid,
    ...(external_id === null ? {} : { externalId: external_id }),
    userName: email,
    name: { formatted, givenName: first_name, familyName: last_name },
    displayName: formatted === '' ? email : formatted,
    emails: [{ value: email, type: 'work', primary: true }],
    active: person.member_id !== null && person.is_account_active,
    groups,
    meta: {
      resourceType: 'User',
      created: person.created_at,
      lastModified: person.updated_at,
      location: `${baseUrl(config, domain_id)}/Users/${uuid}`,
    },
  };
}
