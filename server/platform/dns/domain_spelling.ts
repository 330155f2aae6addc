import { domainToASCII } from 'node:url';

// `domainToASCII` removes paths and decodes percent signs, as a browser does.
const no_domain = /[\s\p{Cc}!-,/:-@[-`{-~]/u;

/**
 * Returns a domain in its stored form, so that a name has one spelling: lower case, other scripts
 * as in DNS (`xn--...`), without surrounding white space and the final dot. Undefined for an
 * invalid text.
 */
export function domainSpelling(text: string): string | undefined {
  const trimmed = text.trim();
  const spelling = no_domain.test(trimmed) ? '' : domainToASCII(trimmed).replace(/\.$/, '');
  return spelling === '' ? undefined : spelling;
}
