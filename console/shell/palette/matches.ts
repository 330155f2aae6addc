/**
 * Ranks a text for the typed one: 0 begins with it, 1 has every word of it at the beginning of a
 * word, 2 has every word somewhere; undefined: no match.
 */
export function rankOf(text: string, typed: string): 0 | 1 | 2 | undefined {
  const [where, wanted] = [text.toLowerCase(), typed.trim().toLowerCase()];
  const words = wanted.split(/\s+/);
  if (where.startsWith(wanted)) return 0;
  if (words.every((word) => ` ${where}`.includes(` ${word}`))) return 1;
  return words.every((word) => where.includes(word)) ? 2 : undefined;
}

/** An item: its label, further names, and the text beside it. */
export type Named = { label: string; also?: readonly string[]; hint?: string };

/** The words that an item is known by beside its label which fit by a beginning. */
function fittingWords({ also = [] }: Named, typed: string): string[] {
  return also.filter((words) => (rankOf(words, typed) ?? 2) < 2);
}

/**
 * Those that fit what was typed, the best first, else in their order. After all whose label fits
 * come those that are known by such a word too, which stands beside them.
 */
export function matching<Item extends Named>(items: Item[], typed: string): Item[] {
  return items
    .flatMap((item): { item: Item; rank: number }[] => {
      const rank = rankOf(item.label, typed);
      if (rank !== undefined) return [{ item, rank }];
      const words = fittingWords(item, typed);
      return words.length === 0 ? [] : [{ item: { ...item, hint: words.join(', ') }, rank: 3 }];
    })
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ item }) => item);
}
