import { domainOf, isAddress, withPlainDomain } from '../../../platform/mail/mailbox.ts';
import { oneLine } from '../../../platform/mail/plain_text.ts';
import { invalidValue } from '../refusal.ts';
import type { ScimRefused } from '../refusal.ts';

/** The names of a person in a request: `emails` with the primary one first. */
export type SentName = { user_name?: string; emails?: string[] };
/** The account's address, and what else the directory calls the person; null: by that address. */
export type Known = { email: string; user_name: string | null };

const user_name_length_max = 255;
const address_length_max = 254;

/**
 * Returns the directory's name for a new person. A `userName` that is an address of the domain is
 * the account's address. Any other name stands beside it, and `emails` has the address, as Okta
 * sends "jdoe" and Entra a userPrincipalName of another domain. Throws 400 without an address of
 * the domain.
 */
export function newName(directory: { domain: string }, { user_name, emails }: SentName): Known {
  const named = user_name ?? emails?.[0];
  if (named === undefined)
    throw invalidValue('userName is missing: send a name or the e-mail address of the person.');
  const own = addressIn(directory, named);
  if (own !== undefined) return { email: own, user_name: null };
  const email = firstIn(directory, emails);
  if (email === undefined) throw noAddress(directory, named);
  return { email, user_name: user_name === undefined ? null : userNameOf(user_name) };
}

/**
 * Returns the directory's name for a person from now on. A person with another name keeps the
 * address, which no request replaces; `emails` alone never moves a person named by the address,
 * because directories send other addresses of theirs there.
 */
export function changedName(
  directory: { domain: string },
  before: Known,
  { user_name, emails }: SentName,
): Known {
  if (user_name === undefined && (emails === undefined || before.user_name === null)) return before;
  const named = user_name ?? before.user_name!;
  if (comparable(named.trim()) === comparable(before.email)) return { ...before, user_name: null };
  const own = addressIn(directory, named);
  if (own !== undefined) return { email: own, user_name: null };
  const kept = before.user_name !== null && emails === undefined ? before.email : undefined;
  const email = firstIn(directory, emails) ?? kept;
  if (email === undefined) throw noAddress(directory, named);
  return { email, user_name: userNameOf(named) };
}

/** The form in which addresses are compared. */
export function comparable(address: string): string {
  return address.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function firstIn(directory: { domain: string }, emails: string[] = []): string | undefined {
  return emails.map((one) => addressIn(directory, one)).find((one) => one !== undefined);
}

/**
 * The address of the directory's domain that a text is. Plain ASCII, so that no letters look, or
 * compare, like those of somebody else.
 */
function addressIn({ domain }: { domain: string }, text: string): string | undefined {
  const address = withPlainDomain(text.trim());
  const is_plain = /^[!-~]+$/.test(address) && address.length <= address_length_max;
  return is_plain && isAddress(address) && domainOf(address) === domain ? address : undefined;
}

function userNameOf(text: string): string {
  const name = text.trim();
  if (name !== '' && name === oneLine(name) && name.length <= user_name_length_max) return name;
  throw invalidValue(
    `userName has to be one line of 1 to ${user_name_length_max} characters, all of them visible.`,
  );
}

function noAddress({ domain }: { domain: string }, named: string): ScimRefused {
  return invalidValue(
    `Neither userName (${named.slice(0, 100)}) nor emails has an address of ${domain} in ASCII, ` +
      'for which alone this directory speaks: send the address of the person as userName or in ' +
      'emails. If it belongs to another domain, claim that one and give it a directory of its ' +
      'own, or invite the person.',
  );
}
