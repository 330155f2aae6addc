import { randomBase62 } from '../../../platform/http/caller/api_key.ts';

const pattern = /^slc_[0-9A-Za-z]{43}$/;

/** Returns a new token of a directory: `slc_` and 256 random bits as 43 base-62 characters. */
export function createToken(): string {
  return `slc_${randomBase62()}`;
}

/** Returns true for a text in the form of such a token; needs no database. */
export function isToken(text: string): boolean {
  return pattern.test(text);
}
