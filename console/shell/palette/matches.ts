/**
 * How well a text fits what was typed: 0 begins with it, 1 has every word of it at the beginning of
 * a word, 2 has every word somewhere; undefined: it does not fit.
 */
export function rankOf(text: string, typed: string): 0 | 1 | 2 | undefined {
  const [where, wanted] = [text.toLowerCase(), typed.trim().toLowerCase()];
  const words = wanted.split(/\s+/);
  if (where.startsWith(wanted)) return 0;
  if (words.every((word) => ` ${where}`.includes(` ${word}`))) return 1;
  return words.every((word) => where.includes(word)) ? 2 : undefined;
}

/** Those that fit what was typed, the best first, else in their order. */
export function matching<Item extends { label: string }>(items: Item[], typed: string): Item[] {
  return items
    .map((item) => ({ item, rank: rankOf(item.label, typed) }))
    .filter(({ rank }) => rank !== undefined)
    .toSorted((one, other) => one.rank! - other.rank!)
    .map(({ item }) => item);
}
