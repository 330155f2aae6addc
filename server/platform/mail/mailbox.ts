import { domainToASCII } from 'node:url';
import { oneLine } from './plain_text.ts';

/** A person or a system that mail goes to or comes from; `name` may be empty. */
export type Mailbox = { name: string; address: string };

// No space, control or special of RFC 5322 before the one @, and a domain's characters after it. So an address can hold neither a second recipient nor a
// header; quoted local parts and address literals, which the RFC allows and nobody has, are left out.
const address_form = /^[^\s\p{C}"(),:;<>@[\\\]]+@[\p{L}\p{M}\p{N}._-]+$/u;
const mailbox_form = /^(?:(?:"([^"<>]*)"|([^"<>]*)) ?<([^<>]*)>|([^<>]*))$/;

/** True when the text is one address that mail can be sent to, in ASCII or internationalised. */
export function isAddress(text: string): boolean {
  return address_form.test(text) && domainOf(text) !== '';
}

/** The domain of an address in ASCII; empty when it cannot be one. */
export function domainOf(address: string): string {
  return domainToASCII(address.slice(address.lastIndexOf('@') + 1));
}

/** The one mailbox that a text such as `Sluice <sluice@example.com>` or `sluice@example.com` names; undefined when it names none or several. */
export function readMailbox(text: string): Mailbox | undefined {
  const [, quoted, plain, bracketed, alone] = mailbox_form.exec(oneLine(text)) ?? [];
  const address = bracketed ?? alone ?? '';
  return isAddress(address) ? { name: (quoted ?? plain ?? '').trim(), address } : undefined;
}
