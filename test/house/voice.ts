/** Most words of a sentence; a code span counts as one word. */
const words_max = 30;

/** Riddles and words of our own, each with the field's word. */
const banned: [pattern: RegExp, instead: string][] = [
  [/\bof it\b/i, 'name the thing'],
  [/\bthose of\b/i, 'repeat the noun'],
  [/\bthat there (?:is|are)\b/i, '"exists", or leave it out'],
  [/\bso that nothing\b/i, 'say what is complete'],
  [/\bas it was\b/i, '"unchanged"'],
  [/\b(?:of which|of whom|whoever)\b/i, 'make two sentences'],
  [/\b(?:takes?|taken|took) in\b/i, '"ingested"'],
  [/\bunder way\b/i, '"in progress"'],
  [/\banew\b/i, '"again", or "restart"'],
  [/\b(?:go|goes|went) on\b/i, '"continue"'],
  [/\bany more\b/i, '"no longer"'],
  [/\bnot at all\b/i, '"not"'],
  [/\bsee (?:below|above)\b/i, 'link to the section'],
  [/\bby (?:itself|themselves)\b/i, 'name who acts'],
];

/**
 * Returns the sentences of a page outside of headings, tables, comments and code blocks. Links are
 * reduced to their label, and a code span stays one word.
 */
export function sentencesOf(markdown: string): string[] {
  return paragraphsOf(markdown).flatMap((paragraph) =>
    paragraph
      .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll(/`[^`]*`/g, '`code`')
      .replaceAll(/\*\*|__/g, '')
      .split(/(?<=[.?!:]["')_*]*)\s+(?=["'([_*]*(?:[A-Z`\d]))/)
      .filter((sentence) => sentence.trim() !== ''),
  );
}

/** Names each fault of a sentence of prose: its length, its phrases, its first word. */
export function faultsOfSentence(text: string): string[] {
  const words = text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
  return [
    ...(words > words_max ? [`${words} words, at most ${words_max}`] : []),
    ...banned.flatMap(([pattern, instead]) => {
      const found = pattern.exec(text)?.[0];
      return found === undefined ? [] : [`"${found}": ${instead}`];
    }),
    ...(/^(?:What|Who|Whose|Of)\b/.test(text) && !text.trimEnd().endsWith('?')
      ? ['begins with a clause or "Of": name who acts']
      : []),
  ];
}

/** Returns the headings of a page, without their marks. */
export function headingsOf(markdown: string): string[] {
  return [...withoutCode(markdown).matchAll(/^#+ (.+)$/gm)].map((match) => match[1]!);
}

/** Names the fault of a heading: it begins with a word that belongs to a clause. */
export function faultsOfHeading(text: string): string[] {
  return /^(?:What|Who|Whose|Of|That)\b/.test(text) ? ['begins with a clause: use a noun'] : [];
}

/** Returns the joined lines of the paragraphs and list items, which are prose. */
function paragraphsOf(markdown: string): string[] {
  const paragraphs: string[][] = [[]];
  for (const line of withoutCode(markdown).split('\n')) {
    const text = line.trim();
    const item = /^(?:[-*]|\d+\.)\s+/.exec(text)?.[0];
    if (text === '' || /^[|#]|^ {4}/.test(text) || item !== undefined) paragraphs.push([]);
    if (/^[|#]/.test(text)) continue;
    paragraphs.at(-1)!.push(text.slice(item?.length ?? 0));
  }
  return paragraphs.map((lines) => lines.join(' ').trim()).filter((text) => text !== '');
}

function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^ *```[\s\S]*?^ *```/gm, '').replaceAll(/<!--[\s\S]*?-->/g, '');
}

/**
 * Returns the comments of a source file, each with its line; lines of one comment belong together.
 */
export function commentsOf(source: string): { line: number; text: string }[] {
  const found: { line: number; text: string }[] = [];
  let is_open = false;
  for (const [index, line] of source.split('\n').entries()) {
    const text = /^\s*(?:\/\*\*?|\/\/|\*(?!\/))\s?(.*?)(?:\s*\*\/)?$/.exec(line)?.[1];
    if (text === undefined) is_open = false;
    else if (is_open) found.at(-1)!.text += ` ${text}`;
    else {
      found.push({ line: index + 1, text });
      is_open = true;
    }
    if (line.trimEnd().endsWith('*/')) is_open = false;
  }
  return found.map(({ line, text }) => ({ line, text: text.trim() }));
}

/** Names the fault of a comment: it begins with a clause instead of a verb or a noun. */
export function faultsOfComment(text: string): string[] {
  return /^(?:What|Who|Whose|Whom|Of|That|Which|Whether|How|So (?:much|many|far|long))\b/.test(text)
    ? ['begins with a clause: begin with a verb ("Returns") or a noun']
    : [];
}
