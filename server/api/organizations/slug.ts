import { randomInt } from 'node:crypto';

const slug_length_max = 48;
const base_length_max = 43;
const letters = 'abcdefghijklmnopqrstuvwxyz';

/**
 * Returns the slug of a name: lower-case ASCII letters and digits with single hyphens, at most 48
 * characters, never empty.
 */
export function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-');
  return trimmed(slug.slice(0, slug_length_max)) || 'organization';
}

/**
 * Returns another slug of the same name: its first 43 characters, a hyphen and 4 random letters.
 */
export function slugBeside(slug: string): string {
  const random = Array.from({ length: 4 }, () => letters[randomInt(letters.length)]).join('');
  return `${trimmed(slug.slice(0, base_length_max))}-${random}`;
}

function trimmed(text: string): string {
  return text.replaceAll(/^-+|-+$/g, '');
}
