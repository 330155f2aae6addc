/** The header of an answer that names what was ignored of its request. */
export const ignored_header = 'sluice-ignored';

/** Longest value: other headers have to fit beside it, and proxies take 4 to 8 KiB of all. */
const length_max = 1_000;

/**
 * The names as a header can carry them: percent-encoded, separated by `, `, each once, up to 1,000
 * characters; `...` at the end says that there are more.
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
