import type { DestinationType } from '../../server/api/destinations/schema.ts';
import type { DestinationTest } from '../../server/api/batch_exports/drafts/schema.ts';
import { keysOf } from './config.ts';

/** Words before a list that mark its words as keys. */
const before_keys = '(the keys? |(?:check|Check|set|Set|lower|raise) )';

/**
 * Returns a pattern for the keys in an API text: a list after such words, or a name that is no
 * ordinary word.
 */
function keysIn(type: DestinationType): RegExp {
  const keys = keysOf(type).map(([key]) => key);
  const any = `(?:${keys.toSorted((one, other) => other.length - one.length).join('|')})`;
  const unlike_words = keys.filter((key) => key.includes('_'));
  const name = unlike_words.length === 0 ? '(?!)' : `\`?\\b(?:${unlike_words.join('|')})\\b\`?`;
  return new RegExp(`\\b${before_keys}(${any}(?:(?:, | and | or )${any})*)\\b|${name}`, 'g');
}

/**
 * Replaces config keys in an API text by the form's labels: "set require_tls to false" becomes
 * "turn off “Require TLS”".
 */
export function inLabels(type: DestinationType, text: string): string {
  const titles = new Map(keysOf(type).map(([key, { title = key }]) => [key, `“${title}”`]));
  const labelled = text.replaceAll(
    keysIn(type),
    (found: string, lead: string | undefined, list: string | undefined) => {
      if (lead === undefined || list === undefined)
        return titles.get(found.replaceAll('`', '')) ?? found;
      const named = list.replaceAll(/\w+/g, (word) => titles.get(word) ?? word);
      return lead.startsWith('the key') ? named : `${lead}${named}`;
    },
  );
  return labelled.replaceAll(
    /\b([Ss])et (“[^”]+”) to (true|false)/g,
    (_, letter: string, label, value) =>
      `${letter === 'S' ? 'T' : 't'}urn ${value === 'true' ? 'on' : 'off'} ${String(label)}`,
  );
}

/** Returns the keys in an API text, in order. */
function keysNamed(type: DestinationType, text: string): string[] {
  const known = keysOf(type).map(([key]) => key);
  return [...text.matchAll(keysIn(type))]
    .flatMap(([found]) => found.match(/\w+/g) ?? [])
    .filter((word) => known.includes(word));
}

/** Why a test failed, and the key whose field shows it; undefined for none. */
export type TestFault = { key: string | undefined; detail: string };

/**
 * Returns the fault of a test; undefined if it passed. Its field is a secret in the text, or else
 * the first key in the text; for an unreachable host, the key of the address.
 */
export function faultOfTest(
  type: DestinationType,
  { steps }: DestinationTest,
): TestFault | undefined {
  const at = steps.findIndex(({ status }) => status === 'failed');
  if (at === -1) return undefined;
  const { detail } = steps[at]!;
  const named = keysNamed(type, detail);
  const known = keysOf(type).map(([key]) => key);
  const leading = at === 0 ? type.where_keys.find((key) => known.includes(key)) : undefined;
  const key = named.find((one) => type.secret_keys.includes(one)) ?? named[0] ?? leading;
  return { key, detail: inLabels(type, detail) };
}
