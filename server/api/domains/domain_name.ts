import { isIP } from 'node:net';
import { domainToASCII, domainToUnicode } from 'node:url';
import type { ErrorCode } from '../../platform/http/error_codes.ts';
import { domainSpelling } from '../../platform/dns/domain_spelling.ts';
import { name_length_max } from './proof/challenge.ts';
import { findMailProvider, isPublicSuffix } from './mail_providers.ts';

type Refusal = { code: ErrorCode; detail: string };

/**
 * Longest text that is checked. It may be longer than the name, because some characters disappear
 * in ASCII.
 */
const text_length_max = 1_000;

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
// By the URL standard, such a name can only be an IPv4 address.
const number_at_end = /(^|\.)(\d+|0x[\da-f]*)\.?$/i;
const address_detail = 'An IP address cannot be verified: enter a domain, such as example.com.';

/**
 * Names that DNS does not serve (RFC 6761, 7686, 9476) or uses internally. Other special-use names
 * can exist inside a company.
 */
const special_suffixes = ['alt', 'arpa', 'invalid', 'localhost', 'onion'];

/**
 * Reads a domain as people type it. `domain` is the name in lower case and ASCII (IDNA by the URL
 * standard, and xn-- must be valid), without a dot at the end. It has at least two labels of
 * letters, digits and hyphens. Refuses addresses, URLs, e-mail addresses, public suffixes, names
 * that DNS does not serve, and public mail providers with all names below them. The sentence says
 * what to enter instead.
 */
export function checkDomainName(text: string): { domain: string } | Refusal {
  const trimmed = text.trim();
  if (trimmed === '') return { code: 'blank', detail: 'Enter a domain, such as example.com.' };
  if (trimmed.length > text_length_max) return tooLong();
  const misreading = refuseOtherThings(trimmed);
  if (misreading !== undefined) return misreading;
  const domain = domainSpelling(trimmed) ?? '';
  return refuseSyntax(domain) ?? refuseOwner(domain) ?? { domain };
}

function invalid(detail: string): Refusal {
  return { code: 'invalid_input', detail };
}

function tooLong(): Refusal {
  return {
    code: 'max_length',
    detail: `The domain may have at most ${name_length_max} characters.`,
  };
}

/**
 * Refuses texts that are clearly no domain. `domainToASCII` must not get them, because it removes
 * paths and decodes percent signs, as a browser does.
 */
function refuseOtherThings(text: string): Refusal | undefined {
  if (isIP(text.replace(/^\[(.*)\]$/, '$1')) !== 0) return invalid(address_detail);
  if (number_at_end.test(text))
    return invalid(
      'The last part of a domain is not a number: enter a domain, such as example.com.',
    );
  if (/[/\\?#]/.test(text))
    return invalid('Enter only the domain: leave out https:// and everything after the name.');
  if (text.includes('@'))
    return invalid('Enter only the domain: leave out the @ and the part before it.');
  if (text.includes(':'))
    return invalid('Enter only the domain: leave out the colon and the port.');
  if (text.includes('*'))
    return invalid(
      'Enter the domain itself instead of a pattern: leave out the * and the dot after it.',
    );
  if (text.includes('_'))
    return invalid(
      'A domain has no underscore. Enter the domain itself, not the name of one of its records.',
    );
  if (/[\s\p{Cc}]/u.test(text))
    return invalid('A domain has no spaces or control characters: leave them out.');
  // Remaining ASCII characters; IDNA checks all others.
  if (/[!-,;-@[-`{-~]/.test(text))
    return invalid(
      'A domain has letters, digits, hyphens and dots only: leave the other characters out.',
    );
  return undefined;
}

function refuseSyntax(domain: string): Refusal | undefined {
  // IDNA returns an empty text for a name that no browser would open.
  if (domain === '')
    return invalid('This is not a domain that a browser would open: check its spelling.');
  if (isIP(domain) !== 0) return invalid(address_detail);
  const labels = domain.split('.');
  if (labels.includes(''))
    return invalid('Two dots follow each other, or one comes first: leave the extra dot out.');
  if (labels.length < 2) return invalid('The domain must have a dot, as in example.com.');
  if (labels.some((part) => part.length > 63))
    return invalid('A part between two dots may have 63 characters at most.');
  if (!labels.every((part) => label.test(part)))
    return invalid(
      'Each part of a domain has letters, digits and hyphens and neither begins nor ends with ' +
        'a hyphen.',
    );
  if (domain.length > name_length_max) return tooLong();
  if (!labels.every(isReadable))
    return invalid(
      'A part that begins with xn-- stands for no name in another script: type the name itself.',
    );
  return undefined;
}

/**
 * The URL standard does not check plain ASCII, so a label that starts with xn-- may be invalid, or
 * stand for a name with another spelling.
 */
function isReadable(part: string): boolean {
  if (!part.startsWith('xn--')) return true;
  const meant = domainToUnicode(part);
  return meant !== part && domainToASCII(meant) === part;
}

/** Refuses names that cannot belong to one organization alone. */
function refuseOwner(domain: string): Refusal | undefined {
  const last = domain.slice(domain.lastIndexOf('.') + 1);
  if (special_suffixes.includes(last))
    return invalid(
      `Names that end in .${last} are not served by DNS for an organization: give one that is.`,
    );
  if (isPublicSuffix(domain))
    return invalid(
      `Under ${domain} everybody can have names, so it belongs to no organization: give your ` +
        'own name below it.',
    );
  const provider = findMailProvider(domain);
  if (provider !== undefined)
    return invalid(
      `${provider} gives mailboxes to everybody: give a domain that belongs to your ` +
        'organization alone.',
    );
  return undefined;
}
