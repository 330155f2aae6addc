/** Words of fewer letters are searched for as they are: "a" begins half of all words. */
const prefix_letters_min = 3;

/** Weights of a search, and how words match. The page and the test of the search take them. */
export const search_options = {
  fuzzy: 0.1,
  prefix: (word: string, index: number, words: string[]) =>
    word.length >= prefix_letters_min || (index === words.length - 1 && word.length > 1),
  boost: { title: 8, titles: 3, text: 1 },
};
