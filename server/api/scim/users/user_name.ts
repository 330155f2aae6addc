import { domainOf, isAddress, withPlainDomain } from '../../../platform/mail/mailbox.ts';
import { oneLine } from '../../../platform/mail/plain_text.ts';
import { invalidValue } from '../refusal.ts';
import type { ScimRefused } from '../refusal.ts';

/** The names of a person in a request; `emails` starts with the primary one. */
export type SentName = { user_name?: string; emails?: string[] };
/**
 * The account's address, and the directory's own name for the person; null if it uses the address.
 */
export type Known = { email: string; user_name: string | null };

const user_name_length_max = 255;
const address_length_max = 254;

/**
 * Reads the directory's name for a new person. A `userName` that is an address of the domain is the
 * account's address. Any other name is stored in addition, and `emails` has the address, as Okta
 * sends "jdoe" and Entra a userPrincipalName of another domain. Throws 400 if no address is in the
 * domain.
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
 * Returns the directory's new name for a person. A person with another name keeps their address,
 * which no request replaces. `emails` alone never changes the address of a person named by it,
 * because directories send other addresses there.
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

/** Returns the form in which addresses are compared. */
export function comparable(address: string): string {
  return address.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function firstIn(directory: { domain: string }, emails: string[] = []): string | undefined {
  return emails.map((one) => addressIn(directory, one)).find((one) => one !== undefined);
}

/**
 * Returns a text as an address in the directory's domain, if it is one. Only plain ASCII, so that
 * no letters look like, or compare equal to, those in another person's address.
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
    `userName must be one line of 1 to ${user_name_length_max} visible characters.`,
  );
}

function noAddress({ domain }: { domain: string }, named: string): ScimRefused {
  return invalidValue(
    `Neither userName (${named.slice(0, 100)}) nor emails has an address in ${domain} in ` +
      'ASCII, the only domain that this directory manages: send the address of the person as ' +
      'userName or in emails. If it belongs to another domain, claim that domain and give it ' +
      'its own directory, or invite the person.',
  );
}
