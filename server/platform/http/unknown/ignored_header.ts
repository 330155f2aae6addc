/** The answer's header with the ignored names of its request. */
export const ignored_header = 'sluice-ignored';

/** Longest value: other headers must fit beside it, and proxies accept 4 to 8 KiB in total. */
const length_max = 1_000;

/**
 * Returns the names for a header: percent-encoded, separated by `, `, each once, up to 1,000
 * characters; a final `...` means that there are more.
 */
export function listed(names: readonly string[]): string {
  let text = '';
  for (const name of new Set(names.map((one) => encodeURIComponent(one)))) {
    const longer = text === '' ? name : `${text}, ${name}`;
    if (longer.length > length_max) return text === '' ? '...' : `${text}, ...`;
    text = longer;
  }
  return text;
}
