// Controls other than line ends and tabs, and the marks that turn the direction of what follows
// them: a name could make a sentence read backwards.
const unprintable = /(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Text of anyone as it may stand in a mail: line ends are `\n`, other control characters and
 * direction overrides are gone, half surrogate pairs are U+FFFD.
 */
export function cleanText(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(unprintable, '');
}

// Characters that show nothing: they could make two names look the same. The joiners stay, because
// emoji and several scripts are written with them.
const invisible = /(?![\u200c\u200d])\p{Cf}/gu;

/**
 * Text of anyone as it may stand in a header, or as a name inside a sentence: what `cleanText`
 * gives, on one line, with single spaces and without invisible characters. No header and no
 * paragraph can begin inside it.
 */
export function oneLine(text: string): string {
  return cleanText(text).replace(invisible, '').replace(/\s+/g, ' ').trim();
}
