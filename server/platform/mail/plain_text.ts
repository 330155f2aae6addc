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

// Readers of mail make a link of an address with its scheme, of one that begins with www, and of a
// host with a port, a path, a query or a fragment. A dot of another script counts as one.
const dot = String.raw`[.\u3002\uff0e\uff61]`;
const name = String.raw`(?:[\p{L}\p{N}_-]+${dot})+\p{L}[\p{L}\p{N}-]*`;
const numbers = String.raw`\d+(?:\.\d+){3}`;
const links = new RegExp(
  [
    String.raw`(?<!\S)\S*:\/\/\S*`,
    String.raw`(?<![\p{L}\p{N}_.-])www${dot}\S+`,
    String.raw`(?<![\p{L}\p{N}_.-])(?:${name}|${numbers})(?:\/\S*|:\d\S*|[?#]\S+)`,
  ].join('|'),
  'giu',
);

/**
 * Text of anyone as it may stand in a subject, or as a name inside a sentence: what `oneLine`
 * gives, with `(link removed)` in place of whatever readers of mail make a link of. So nobody uses
 * this server to send their own addresses to strangers.
 */
export function withoutLinks(text: string): string {
  return oneLine(text).replace(links, '(link removed)');
}
