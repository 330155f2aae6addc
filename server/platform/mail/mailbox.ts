import { domainToASCII } from 'node:url';
import { oneLine } from './plain_text.ts';

/** A person or a system that sends or receives mail; `name` may be empty. */
export type Mailbox = { name: string; address: string };

// No space, control or special character of RFC 5322 before the one @, and a domain's characters
// after it. So an address can contain neither a second recipient nor a header. Quoted local parts
// and address literals, which the RFC allows and nobody uses, are not accepted.
const address_form = /^[^\s\p{C}"(),:;<>@[\\\]]+@[\p{L}\p{M}\p{N}._-]+$/u;
const mailbox_form = /^(?:(?:"([^"<>]*)"|([^"<>]*)) ?<([^<>]*)>|([^<>]*))$/;

/**
 * Returns true if the text is one address that mail can be sent to, in ASCII or internationalised.
 */
export function isAddress(text: string): boolean {
  return address_form.test(text) && domainOf(text) !== '';
}

/** Returns the domain of an address in ASCII; empty if it cannot be one. */
export function domainOf(address: string): string {
  return domainToASCII(address.slice(address.lastIndexOf('@') + 1));
}

/**
 * The address as it is kept and looked for, so that a mailbox has one spelling. The part before the
 * @ stays unchanged. The domain has A to Z in lower case, and another script as DNS has it
 * (`xn--...`).
 */
export function withPlainDomain(address: string): string {
  const at = address.lastIndexOf('@') + 1;
  const lower = address.slice(at).replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  // ASCII stays unchanged: the URL standard converts 1.2.3 to an IP address.
  const plain = /^[ -~]*$/.test(lower) ? lower : domainToASCII(lower) || lower;
  return address.slice(0, at) + plain;
}

/**
 * Returns the one mailbox in a text such as `Sluice <sluice@example.com>` or `sluice@example.com`;
 * undefined if it names none or several.
 */
export function readMailbox(text: string): Mailbox | undefined {
  const [, quoted, plain, bracketed, alone] = mailbox_form.exec(oneLine(text)) ?? [];
  const address = bracketed ?? alone ?? '';
  return isAddress(address) ? { name: (quoted ?? plain ?? '').trim(), address } : undefined;
}
