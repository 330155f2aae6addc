/**
 * Ranks a text for the typed one; undefined without a match. 0: starts with it. 1: has every typed
 * word at the start of a word. 2: has every word somewhere.
 */
export function rankOf(text: string, typed: string): 0 | 1 | 2 | undefined {
  const [where, wanted] = [text.toLowerCase(), typed.trim().toLowerCase()];
  const words = wanted.split(/\s+/);
  if (where.startsWith(wanted)) return 0;
  if (words.every((word) => ` ${where}`.includes(` ${word}`))) return 1;
  return words.every((word) => where.includes(word)) ? 2 : undefined;
}

/** An item: its label, other search words, and the text beside it. */
export type Named = { label: string; also?: readonly string[]; hint?: string };

/** Returns the item's other search words that start with the typed text. */
function fittingWords({ also = [] }: Named, typed: string): string[] {
  return also.filter((words) => (rankOf(words, typed) ?? 2) < 2);
}

/**
 * Returns the matching items, best first, otherwise in their order. Items that match by another
 * search word come after all label matches, and show that word.
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
