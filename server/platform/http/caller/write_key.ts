import { randomBase62 } from './api_key.ts';

/** The pattern of a write key after `slp_`. */
export const write_key_characters = '[0-9A-Za-z]{43}';

const pattern = new RegExp(`^slp_${write_key_characters}$`);

/** Creates a public write key: `slp_` and 256 random bits as 43 base-62 characters. */
export function createWriteKey(): string {
  return `slp_${randomBase62()}`;
}

/** Returns true for text in the form of a write key; needs no database. */
export function isWriteKey(text: string): boolean {
  return pattern.test(text);
}
