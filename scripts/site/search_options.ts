/** Words of fewer letters are searched for as they are: "a" begins half of all words. */
const prefix_letters_min = 3;

/** Words of a question that say nothing about its page. */
const empty_words = new Set(
  `a an and are as at be before by can could do does for from get have how i if in into is it its
  me my of on or our should so than that the their them there these they this to was we what when
  where which who why will with would you your`.split(/\s+/),
);

/** Words of readers with the words of the pages that answer them. */
const words_of_pages = new Map(
  Object.entries({
    alert: 'notice',
    alerts: 'notices',
    delay: 'freshness',
    duplicate: 'twice',
    duplicates: 'twice',
    gdpr: 'erase',
    latency: 'freshness',
    timezone: 'zone',
  }),
);

/** Weight of the head of a page, but not of an error's page, beside sections further down. */
const head_boost = 1.3;

/** Weights of a search, and how words match. The page and the test of the search take them. */
export const search_options = {
  fuzzy: 0.1,
  prefix: (word: string, index: number, words: string[]) =>
    word.length >= prefix_letters_min || (index === words.length - 1 && word.length > 1),
  boost: { title: 8, titles: 3, text: 1 },
  processTerm: (word: string) => {
    const lower = word.toLowerCase();
    if (empty_words.has(lower)) return null;
    const other = words_of_pages.get(lower);
    return other === undefined ? lower : [lower, other];
  },
  boostDocument: (id: unknown, _term: string, stored?: Record<string, unknown>) =>
    (stored?.['titles'] as unknown[] | undefined)?.length === 0 && !/\berrors\//.test(String(id))
      ? head_boost
      : 1,
};
