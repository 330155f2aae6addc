import { domainToASCII } from 'node:url';

// `domainToASCII` cuts paths off and decodes percent signs, as a browser does.
const no_domain = /[\s\p{Cc}!-,/:-@[-`{-~]/u;

/**
 * A domain as it is kept, so that a name has one spelling: lower case, another script as DNS has it
 * (`xn--...`), without white space around it and without the dot at its end. Undefined for a
 * text that is none.
 */
export function domainSpelling(text: string): string | undefined {
  const trimmed = text.trim();
  const spelling = no_domain.test(trimmed) ? '' : domainToASCII(trimmed).replace(/\.$/, '');
  return spelling === '' ? undefined : spelling;
}
