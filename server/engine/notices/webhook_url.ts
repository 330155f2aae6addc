import type { Secrets } from '../../platform/secrets/secrets.ts';

/** Replaces path and query in a shown address. */
export const hidden_part = '********';
/**
 * Length of the hidden part from which its last characters are shown too, and their number. They
 * are enough to tell two webhooks of one host apart, and too few to guess the rest.
 */
const hinted_characters_min = 24;
const hint_characters = 4;

/** The context under which a target's whole address is sealed. */
export function urlContext(targetId: string): string {
  return `notice_targets:${targetId}:url`;
}

/**
 * Returns the public part of a webhook's address: scheme, host, port, and the last four characters
 * of a long path and query. Many services put a secret there.
 */
function shownUrl(url: string): string {
  const { origin, pathname, search } = new URL(url);
  const hidden = `${pathname.slice(1)}${search}`;
  if (hidden === '') return `${origin}/`;
  const hint = hidden.length < hinted_characters_min ? '' : hidden.slice(-hint_characters);
  return `${origin}/${hidden_part}${hint}`;
}

/** Returns an address as it is stored: sealed for its target's row, and in its public form. */
export function storedUrl(
  secrets: Secrets,
  targetId: string,
  url: string,
): { url: string; url_sealed: Buffer } {
  return { url: shownUrl(url), url_sealed: secrets.seal(url, urlContext(targetId)) };
}
