import { functionTopics } from '../../server/engine/query/functions/index.ts';

/** The heading after which `npm run docs:query` writes docs/query_language.md. */
export const functions_heading = '## Functions';

/**
 * Returns every function of the language as Markdown, from the heading on. There is a table for
 * each topic, and one row for each function with its signature, its meaning and an example that
 * runs.
 */
export function functionTable(): string {
  const sections = functionTopics.map(({ title, note, functions }) => {
    const rows = functions.map(({ name, signature, meaning, example }) =>
      row(
        `\`${name}\``,
        `\`${signature.replaceAll('#level...', '(level, ...)').replaceAll('#level', '(level)')}\``,
        meaning,
        `\`${example}\``,
      ),
    );
    return [
      `### ${title}`,
      ...(note === undefined ? [] : ['', wrapped(note)]),
      '',
      '| Function | Signature | Result | Example |',
      '|---|---|---|---|',
      ...rows,
    ].join('\n');
  });
  const head = [
    'In a signature, `T`, `U`, `K` and `V` are any type, `N` is a number, `[T]` an array and',
    '`{K:V}` a map. `?` is optional (a result with it may be NULL), `...` may be repeated, `#` is',
    'a literal in the query itself, and `condition` a boolean or a number. A result is NULL if an',
    'argument is NULL, unless the signature says `!`.',
    '',
    'This part of the page is written by `npm run docs:query` ' +
      'from `server/engine/query/functions/`;',
    'change the text there.',
  ].join('\n');
  return `${functions_heading}\n\n${head}\n\n${sections.join('\n\n')}\n`;
}

/** Returns the text in lines of at most 100 columns, broken at spaces. */
function wrapped(text: string): string {
  return text
    .split(/\s+/)
    .reduce<string[]>((lines, word) => {
      const line = `${lines.at(-1) ?? ''} ${word}`.trimStart();
      return line.length <= 100 && lines.length > 0
        ? [...lines.slice(0, -1), line]
        : [...lines, word];
    }, [])
    .join('\n');
}

function row(...cells: string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
