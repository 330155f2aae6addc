import { styleText } from 'node:util';
import { oneLine } from '../shown_text.ts';
import { terminalText } from '../../platform/terminal_text.ts';

/** The output of a command, for a person at a terminal or for a program. */
export type Output = {
  is_terminal: boolean;
  /** Characters in a line of the terminal. */
  columns: number;
  write(text: string): void;
};

/** The colour of a state; its word says the same. */
export type Mood = 'good' | 'bad' | 'busy' | 'quiet';

/** One column of a table. */
export type Column<Row> = {
  title: string;
  text(row: Row): string | number | null | undefined;
  mood?(row: Row): Mood;
};

const styles = { good: 'green', bad: 'red', busy: 'yellow', quiet: 'gray' } as const;
const gap = '  ';
const title_style = 'bold';

/** The output of this process. */
export function standardOutput(): Output {
  const { stdout } = process;
  return {
    is_terminal: stdout.isTTY,
    columns: stdout.columns ?? 80,
    write: (text) => void stdout.write(text),
  };
}

/**
 * Colours a text if the output is a terminal and neither NO_COLOR nor a dumb terminal forbids it.
 */
export function coloured({ is_terminal }: Output, mood: Mood, text: string): string {
  return is_terminal ? styleText(styles[mood], text, { stream: process.stdout }) : text;
}

/** Writes lines for a person, without control characters. */
export function say(output: Output, ...lines: string[]): void {
  for (const line of lines) output.write(`${terminalText(line)}\n`);
}

/** Writes JSON: indented for a person, in one line for a program. */
export function printJson(output: Output, value: unknown): void {
  say(output, JSON.stringify(value, null, output.is_terminal ? 2 : undefined));
}

/**
 * Writes rows: at a terminal as a table with headings, otherwise separated by tabs and without
 * headings, for `cut -f` and `while read`.
 */
export function printTable<Row>(
  output: Output,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): void {
  const cells = rows.map((row) => columns.map((column) => cellText(column.text(row))));
  if (!output.is_terminal) {
    for (const line of cells) output.write(`${line.join('\t')}\n`);
    return;
  }
  const titles = columns.map(({ title }) => title.toUpperCase());
  const widths = titles.map((title, at) =>
    Math.max(title.length, ...cells.map((line) => line[at]!.length)),
  );
  const padded = (line: readonly string[]) => {
    let left = output.columns;
    return line.map((text, at) => {
      const isLast = at === line.length - 1;
      const shown = shortened(text, Math.max(8, isLast ? left : widths[at]!));
      left -= widths[at]! + gap.length;
      return isLast ? shown : shown.padEnd(widths[at]!);
    });
  };
  const heads = padded(titles).join(gap);
  output.write(`${styleText(title_style, heads, { stream: process.stdout })}\n`);
  cells.forEach((line, number) => {
    const drawn = padded(line).map((text, at) => {
      const mood = columns[at]!.mood?.(rows[number]!);
      return mood === undefined ? text : coloured(output, mood, text);
    });
    output.write(`${drawn.join(gap).trimEnd()}\n`);
  });
}

/** Writes the fields of a record, one per line. */
export function printRecord(
  output: Output,
  fields: readonly (readonly [name: string, value: string | number | null | undefined])[],
): void {
  const width = Math.max(...fields.map(([name]) => name.length));
  for (const [name, value] of fields) {
    const text = cellText(value);
    output.write(
      output.is_terminal ? `${`${name}:`.padEnd(width + 1)} ${text}\n` : `${name}\t${text}\n`,
    );
  }
}

function cellText(value: string | number | null | undefined): string {
  return terminalText(oneLine(String(value ?? ''))).trim();
}

function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
