// Control characters except line ends and tabs, and the marks that change the direction of the
// following text: a name could make a sentence read backwards.
const unprintable = /(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Returns untrusted text for a mail: line ends are `\n`, other control characters and direction
 * overrides are removed, half surrogate pairs are U+FFFD.
 */
export function cleanText(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(unprintable, '');
}

// Invisible characters, which could make two names look the same. The joiners stay, because emoji
// and several scripts need them.
const invisible = /(?![\u200c\u200d])\p{Cf}/gu;

/**
 * Returns untrusted text for a header, or as a name inside a sentence: the result of `cleanText` on
 * one line, with single spaces and without invisible characters. No header and no paragraph can
 * begin inside it.
 */
export function oneLine(text: string): string {
  return cleanText(text).replace(invisible, '').replace(/\s+/g, ' ').trim();
}

// Mail programs make a link of a URL with its scheme and of one that begins with www. They also
// make one of a host with a port, a path, a query or a fragment. A dot of another script counts as
// one.
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
 * Returns untrusted text for a subject, or as a name inside a sentence. It is the result of
 * `oneLine`, with `(link removed)` in place of anything that mail programs make a link of. So
 * nobody can use this server to send their own URLs to strangers.
 */
export function withoutLinks(text: string): string {
  return oneLine(text).replace(links, '(link removed)');
}
