import type { Readable } from 'node:stream';
import { progress } from '@clack/prompts';
import { mapLine } from './import_mapping.ts';
import type { ImportMapping } from './import_mapping.ts';
import { sendLines } from './import_send.ts';
import type { SendTarget, Sent } from './import_send.ts';
import { openImportSource } from './import_source.ts';
import type { ImportSource } from './import_source.ts';
import { openProgress } from './import_state.ts';
import type { ImportProgress } from './import_state.ts';
import { UserError } from './user_error.ts';

/** What to import, where to, and how its lines are to be read. */
export type ImportOptions = ImportMapping & {
  /** Path, or `-` for standard input. */
  file: string;
  project: string;
  /** Address of the server without a slash at the end. */
  url: string;
  key: string;
  /** How long a server that cannot be reached is waited for; default ten minutes. */
  patience_ms?: number;
};

/** The terminal: lines for people, and whether a bar can be drawn. */
export type ImportTerminal = {
  stdin: Readable;
  is_tty: boolean;
  say(line: string): void;
  complain(line: string): void;
};

const request_lines_max = 5_000;
const request_characters_max = 4 * 1024 * 1024;
const complaints_max = 20;
const default_patience_ms = 600_000;

type Pending = { numbers: number[]; jsons: string[]; characters: number; last_number: number };
type Bar = { advance(lines: number): void; note(text: string): void; stop(text: string): void };

/**
 * Sends a file of events to a running server and gives the exit code: 0, or 1 when lines were refused. Guarantees: the same content never makes an event twice, however often and
 * wherever the import is broken off; run again it goes on after the last line that the server answered; a bad line is named and skipped. Throws a UserError when the file cannot be read or the server refuses.
 */
export async function importFile(
  options: ImportOptions,
  terminal: ImportTerminal,
): Promise<number> {
  const source = await openImportSource(options.file, terminal.stdin).catch(
    explainFile(options.file),
  );
  try {
    return await importSource(source, options, terminal);
  } finally {
    await source.close();
  }
}

async function importSource(
  source: ImportSource,
  options: ImportOptions,
  terminal: ImportTerminal,
): Promise<number> {
  const url = options.url.replace(/\/+$/, '');
  const statePath = options.file === '-' ? undefined : `${options.file}.sluice-import`;
  const kept = await openProgress(statePath, {
    sha256: source.sha256.toString('hex'),
    url,
    project: options.project,
  });
  const { state } = kept;
  if (state.line > 0)
    terminal.say(`Going on after line ${state.line} of an import that was broken off.`);
  const bar = openBar(terminal, source.lines_total, state.line);
  const target: SendTarget = {
    url,
    project: options.project,
    key: options.key,
    patience_ms: options.patience_ms ?? default_patience_ms,
    onPause: (reason, seconds) => bar.note(`${reason}; trying again in ${seconds} s`),
  };
  const complain = openComplaints(terminal);
  try {
    await sendAll(source, options, target, kept, { bar, complain: complain.line });
  } catch (error) {
    bar.stop('Stopped.');
    throw error;
  }
  await kept.clear();
  bar.stop(
    `${state.taken} events stored, ${state.duplicates} were there already, ${state.rejected} lines refused.`,
  );
  complain.rest(state.rejected);
  return state.rejected > 0 ? 1 : 0;
}

async function sendAll(
  source: ImportSource,
  mapping: ImportMapping,
  target: SendTarget,
  kept: ImportProgress,
  tell: { bar: Bar; complain: (number: number, detail: string) => void },
): Promise<void> {
  const { state } = kept;
  const answer = async (pending: Pending, sent: Sent) => {
    for (const { index, detail } of sent.refused)
      tell.complain(pending.numbers[index] ?? pending.last_number, detail);
    tell.bar.advance(pending.last_number - state.line);
    state.line = pending.last_number;
    state.taken += sent.taken;
    state.duplicates += sent.duplicates;
    state.rejected += sent.rejected;
    await kept.save();
  };
  // One request is under way while the next one is being read, which keeps both sides busy and the order of lines.
  let underWay: Promise<void> = Promise.resolve();
  for await (const { pending, rejected } of readPending(
    source,
    mapping,
    state.line,
    tell.complain,
  )) {
    await underWay;
    const sending =
      pending.jsons.length === 0
        ? Promise.resolve({ taken: 0, duplicates: 0, rejected: 0, refused: [] })
        : sendLines(target, pending.jsons);
    underWay = sending.then((sent) =>
      answer(pending, { ...sent, rejected: sent.rejected + rejected }),
    );
    // Its failure is thrown where it is awaited.
    underWay.catch(() => {});
  }
  await underWay;
}

async function* readPending(
  source: ImportSource,
  mapping: ImportMapping,
  after: number,
  complain: (number: number, detail: string) => void,
) {
  let pending: Pending = { numbers: [], jsons: [], characters: 0, last_number: after };
  let rejected = 0;
  for await (const lines of source.lines()) {
    for (const line of lines) {
      if (line.number <= after) continue;
      pending.last_number = line.number;
      const mapped =
        line.problem === undefined
          ? mapLine(line.text, line.number, source.sha256, mapping)
          : {
              problem:
                line.problem === 'too_long'
                  ? 'This line is longer than 20 MiB.'
                  : 'This line is not UTF-8.',
            };
      if (mapped.json === undefined) {
        complain(line.number, mapped.problem);
        rejected += 1;
        continue;
      }
      pending.numbers.push(line.number);
      pending.jsons.push(mapped.json);
      pending.characters += mapped.json.length;
      if (pending.jsons.length < request_lines_max && pending.characters < request_characters_max)
        continue;
      yield { pending, rejected };
      pending = { numbers: [], jsons: [], characters: 0, last_number: line.number };
      rejected = 0;
    }
  }
  if (pending.jsons.length > 0 || rejected > 0) yield { pending, rejected };
}

function openComplaints(terminal: ImportTerminal) {
  let told = 0;
  return {
    line: (number: number, detail: string) => {
      told += 1;
      if (told <= complaints_max) terminal.complain(`line ${number}: ${detail}`);
    },
    rest: (rejected: number) => {
      if (told > complaints_max)
        terminal.complain(
          `... and more: ${rejected} lines were refused, the first ${complaints_max} problems are named above.`,
        );
    },
  };
}

/** A bar on a terminal; elsewhere a line for each tenth of the file. */
function openBar(terminal: ImportTerminal, total: number, done: number): Bar {
  let current = done;
  const text = () => `${current} of ${total} lines`;
  if (terminal.is_tty) {
    const bar = progress({ max: Math.max(1, total) });
    bar.start(text());
    bar.advance(done, text());
    return {
      advance: (lines) => bar.advance(lines, ((current += lines), text())),
      note: (note) => bar.message(note),
      stop: (note) => bar.stop(note),
    };
  }
  let tenth = Math.floor((10 * done) / Math.max(1, total));
  return {
    advance: (lines) => {
      current += lines;
      const reached = Math.floor((10 * current) / Math.max(1, total));
      if (reached > tenth) terminal.say(text());
      tenth = reached;
    },
    note: terminal.say,
    stop: terminal.say,
  };
}

function explainFile(file: string) {
  return (error: unknown): never => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'ENOENT') throw new UserError(`There is no file "${file}".`);
    if (code === 'EACCES' || code === 'EISDIR')
      throw new UserError(`The file "${file}" cannot be read.`);
    if (code.startsWith('Z_'))
      throw new UserError(`The gzip data of "${file}" is broken or cut off.`);
    throw error;
  };
}
