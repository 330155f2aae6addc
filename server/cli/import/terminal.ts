import type { Readable } from 'node:stream';

/** The terminal: lines for people, and whether a line can be redrawn. */
export type ImportTerminal = {
  stdin: Readable;
  is_tty: boolean;
  say(line: string): void;
  complain(line: string): void;
  /** Replaces the text that was drawn last. */
  draw(text: string): void;
};

/** Reports faults of lines. */
export type Complaints = ReturnType<typeof openComplaints>;

/** The progress of an import on the terminal. */
export type ImportBar = { advance(lines: number): void; note(text: string): void };

const complaints_max = 20;
const cells = 30;

/** Opens a line that is redrawn on a terminal; elsewhere, a line for each tenth of the file. */
export function openImportBar(terminal: ImportTerminal, total: number, done: number): ImportBar {
  let current = done;
  const share = () => current / Math.max(1, total);
  const text = () => `${current} of ${total} lines`;
  const draw = () => {
    const full = Math.min(cells, Math.floor(share() * cells));
    terminal.draw(`[${'='.repeat(full)}${' '.repeat(cells - full)}] ${text()}`);
  };
  if (terminal.is_tty) draw();
  let tenth = Math.floor(10 * share());
  return {
    advance: (lines) => {
      current += lines;
      if (terminal.is_tty) return draw();
      const reached = Math.floor(10 * share());
      if (reached > tenth) terminal.say(text());
      tenth = reached;
    },
    note: (note) => (terminal.is_tty ? terminal.draw(note) : terminal.say(note)),
  };
}

/** Reports the first problems, and at the end that there were more. */
export function openComplaints(terminal: ImportTerminal) {
  let told = 0;
  const renamed = new Set<string>();
  return {
    line: (number: number, detail: string) => {
      told += 1;
      if (told <= complaints_max) terminal.complain(`line ${number}: ${detail}`);
    },
    rest: (rejected: number) => {
      if (told > complaints_max)
        terminal.complain(
          `... and more: ${rejected} lines were refused; the first ` +
            `${complaints_max} problems are shown above.`,
        );
    },
    /** Reported once for each name, because no value is lost. */
    renamed: (number: number, from: string, to: string) => {
      if (renamed.has(from)) return;
      renamed.add(from);
      terminal.complain(
        `line ${number}: "${from}" is beside "properties" and has another value inside it; the ` +
          `outer one becomes the property "${to}", here and in further lines.`,
      );
    },
  };
}
