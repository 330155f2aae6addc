import fc from 'fast-check';

const surrogates = { first: 0xd800, count: 0x800 };

/**
 * Any character that Unicode has a number for, for `fc.string({ unit: any_character })`. The unit
 * `binary` of fast-check gives the same ones, and builds a table of all million of them first.
 */
export const any_character = fc
  .nat({ max: 0x10ffff - surrogates.count })
  .map((number) =>
    String.fromCodePoint(number < surrogates.first ? number : number + surrogates.count),
  );

/**
 * Generates characters as readers see them, each made of one or several of Unicode's. The unit
 * `grapheme` of fast-check first fills a table of almost a million.
 */
export const any_grapheme = fc.oneof(
  any_character,
  fc
    .tuple(any_character, fc.constantFrom('\u0301', '\u0327', '\u20dd', '\ufe0f', '\u200d'))
    .map(([character, mark]) => character + mark),
  fc.constantFrom('👩‍👩‍👧', '🏳️‍🌈', '🇪🇺', '👍🏽', '각', 'ஷ்', 'Z͑ͫ̓'),
);
