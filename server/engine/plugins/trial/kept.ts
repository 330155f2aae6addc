/** The length to which a text of a trial's answer is cut. */
const text_length_max = 65_536;

/** Returns the text, cut with `...` at its end if it is too long. */
export function cutText(text: string): string {
  return text.length <= text_length_max
    ? text
    : `${text.slice(0, text_length_max - 3).toWellFormed()}...`;
}

/** Keeps the first items up to this number, and counts the others. */
export function keepFew<Item>(count_max: number) {
  const kept: Item[] = [];
  let omitted = 0;
  return {
    kept,
    add: (item: Item): void => {
      if (kept.length < count_max) kept.push(item);
      else omitted += 1;
    },
    omitted: () => omitted,
  };
}
