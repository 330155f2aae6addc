import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The repository's folder. */
export const root = join(import.meta.dirname, '..', '..');

/**
 * A source file: its path from the repository's folder, its text, and the same text with comments
 * and the content of literals blanked out (lines stay where they are).
 */
export type SourceFile = { path: string; text: string; code: string };

const folders = ['console', 'server', 'test', 'scripts', 'bench'];

let known: SourceFile[] | undefined;

/**
 * Every TypeScript file of the repository but declarations for foreign packages, sorted by path. A
 * process reads them once.
 */
export function listSourceFiles(): readonly SourceFile[] {
  return (known ??= readSourceFiles());
}

function readSourceFiles(): SourceFile[] {
  const paths = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(
        (name) =>
          /\.tsx?$/.test(name) && !name.endsWith('.d.ts') && !/node_modules|^dist\//.test(name),
      )
      .map((name) => `${folder}/${name}`),
  );
  return paths.sort().map(readSourceFile);
}

/** Returns one of them, by its path from the root. */
export function readSourceFile(path: string): SourceFile {
  const text = readFileSync(join(root, path), 'utf8');
  return { path, text, code: blank(text) };
}

/**
 * Returns the modules that a file names in `import`, `export from` and `import()`; `is_type` if it
 * only imports types, which no running code loads.
 */
export function listImports(file: SourceFile): { module: string; is_type: boolean }[] {
  const found: { module: string; is_type: boolean }[] = [];
  // The literal's content is blank in `code`, so the match is made there and the module's name is
  // read from the text.
  for (const match of file.code.matchAll(
    /(?:^|\n|;)\s*(?:import|export)\b(\s+type\b)?(?:[\w\s{},*$]*?\bfrom)?\s*(['"])|\bimport\s*\(\s*(['"])/g,
  )) {
    const start = match.index + match[0].length;
    const quote = match[2] ?? match[3]!;
    found.push({
      module: file.text.slice(start, file.text.indexOf(quote, start)),
      is_type: match[1] !== undefined,
    });
  }
  return found;
}

/**
 * Blanks comments and the content of strings, templates and regular expressions; code inside `${}`
 * stays. Every line keeps its length.
 */
export function blank(text: string): string {
  // The character before a slash tells whether it divides or opens a regular expression.
  const token =
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"|(?<=(?:^|[(,=:[!&|?{};+*%~^<>-]|\breturn|\bcase|\btypeof)\s*)\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*|[`{}]/g;
  const spaces = (part: string) => part.replace(/[^\n]/g, ' ');
  let out = '';
  let position = 0;
  // One entry per open brace: true where the brace closes a template's `${`.
  const braces: boolean[] = [];
  const template = () => {
    const end = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y;
    end.lastIndex = position;
    out += spaces(end.exec(text)![0]);
    position = end.lastIndex;
    const opens = text.startsWith('${', position);
    if (opens) braces.push(true);
    out += text.slice(position, position + (opens ? 2 : 1));
    position += opens ? 2 : 1;
  };
  for (;;) {
    token.lastIndex = position;
    const match = token.exec(text);
    if (match === null) return out + text.slice(position);
    out += text.slice(position, match.index);
    position = match.index + match[0].length;
    const isLiteral = /^['"]/.test(match[0]);
    if (match[0].length === 1) out += match[0];
    else
      out += isLiteral
        ? match[0][0]! + spaces(match[0].slice(1, -1)) + match[0].at(-1)!
        : spaces(match[0]);
    if (match[0] === '`') template();
    else if (match[0] === '{') braces.push(false);
    else if (match[0] === '}' && braces.pop() === true) template();
  }
}
