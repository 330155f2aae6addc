import { CutOffArray } from './array.ts';
import { dryRun } from './dry_run.ts';
import { checkMapping, describeMapping } from './mapping.ts';
import type { ImportMapping } from './mapping.ts';
import { readRequests } from './requests.ts';
import type { ImportRequest } from './requests.ts';
import { sendLines } from './send.ts';
import type { SendTarget, Sent } from './send.ts';
import { openImportSource } from './source.ts';
import type { ImportSource } from './source.ts';
import { openProgress } from './state.ts';
import type { ImportProgress, ImportState } from './state.ts';
import { openComplaints, openImportBar } from './terminal.ts';
import type { Complaints, ImportBar, ImportTerminal } from './terminal.ts';
import { signal_exit_codes } from '../process/stop_signal.ts';
import type { StopSignal } from '../process/stop_signal.ts';
import { serverAddress } from '../server_address.ts';
import { counted } from '../../platform/counted.ts';
import { UserError } from '../user_error.ts';

/** The file to import, its target, and the way to read its lines. */
export type ImportOptions = ImportMapping & {
  /** Path, or `-` for standard input. */
  file: string;
  project: string;
  /** Address of the server without a slash at the end. */
  url: string;
  /** Not needed for a dry run. */
  key: string;
  /** Shows the stored form of the events, and sends nothing. */
  dry_run?: boolean;
  /** Time to wait for an unreachable server; default ten minutes. */
  wait_ms_max?: number;
  /** Resolves when a signal asks the import to stop. */
  stopped?: Promise<StopSignal>;
};

/** The outputs during an import. */
type Told = { bar: ImportBar; complaints: Complaints };

const default_wait_ms = 600_000;
/** Most concurrent requests: enough to fill a batch while another is written. */
const requests_max = 6;

/**
 * Sends a file of events to a running server and returns the exit code: 0, 1 if lines were refused,
 * or that of the signal that stopped it. Guarantees: the same content never creates an event twice,
 * however often the import is interrupted. The next run continues after the last line that the
 * server has answered. Invalid lines are named and skipped. Throws a UserError if the file cannot
 * be read or the server refuses.
 */
export async function importFile(
  options: ImportOptions,
  terminal: ImportTerminal,
): Promise<number> {
  checkMapping(options);
  const url = serverAddress(options.url);
  const stopping = new AbortController();
  let signal: StopSignal | undefined;
  const stop = (name: StopSignal) => {
    signal = name;
    stopping.abort();
  };
  void options.stopped?.then(stop);
  let kept: ImportProgress | undefined;
  let source: ImportSource | undefined;
  try {
    source = await openImportSource(options.file, terminal.stdin, stopping.signal).catch(
      explainFile(options.file),
    );
    kept = await openProgress(options.file === '-' ? undefined : stateFile(options.file), {
      sha256: source.sha256.toString('hex'),
      url,
      project: options.project,
      mapping: describeMapping(options),
    });
    const complaints = openComplaints(terminal);
    if (options.dry_run === true) {
      if (kept.differs_from !== undefined)
        terminal.complain(differentMapping(options.file, kept.differs_from, kept.state));
      return await dryRun(source, options, complaints, terminal.say, stopping.signal);
    }
    if (kept.differs_from !== undefined)
      throw new UserError(differentMapping(options.file, kept.differs_from, kept.state));
    return await importSource(source, { ...options, url }, kept, terminal, stopping.signal);
  } catch (error) {
    if (signal === undefined) throw error;
    terminal.complain(howToGoOn(options.file, kept?.state, source?.lines_total));
    return signal_exit_codes[signal];
  } finally {
    await source?.close();
  }
}

async function importSource(
  source: ImportSource,
  options: ImportOptions,
  kept: ImportProgress,
  terminal: ImportTerminal,
  signal: AbortSignal,
): Promise<number> {
  const { state } = kept;
  if (state.line > 0) terminal.say(`Continuing after line ${state.line} of an interrupted import.`);
  const bar = openImportBar(terminal, source.lines_total, state.line);
  const complaints = openComplaints(terminal);
  const target: SendTarget = {
    url: options.url,
    project: options.project,
    key: options.key,
    wait_ms_max: options.wait_ms_max ?? default_wait_ms,
    onPause: (reason, seconds) => bar.note(`${reason}; trying again in ${seconds} s`),
    signal,
  };
  await sendAll(source, options, target, kept, { bar, complaints });
  state.is_finished = true;
  await kept.save();
  terminal.say(
    `${counted(state.taken, 'event')} stored, ${state.duplicates.toLocaleString('en')} ` +
      `${state.duplicates === 1 ? 'was' : 'were'} there already, ` +
      `${counted(state.rejected, 'line')} refused.`,
  );
  if (state.joins !== undefined)
    terminal.say(`Joined ${counted(state.joins, 'pair')} of ids: each is one person now.`);
  if (state.dropped !== undefined)
    terminal.say(`Ingestion rules of the project dropped ${counted(state.dropped, 'event')}.`);
  if (state.duplicates > 0)
    terminal.say(
      'Events that were stored before do not change, even if their lines are now read ' +
        'differently.',
    );
  complaints.rest(state.rejected);
  return state.rejected > 0 ? 1 : 0;
}

async function sendAll(
  source: ImportSource,
  mapping: ImportMapping,
  target: SendTarget,
  kept: ImportProgress,
  { bar, complaints }: Told,
): Promise<void> {
  const { state } = kept;
  const answer = async (request: ImportRequest, sent: Sent) => {
    for (const { index, detail } of sent.refused)
      complaints.line(request.numbers[index] ?? request.last_number, detail);
    bar.advance(request.last_number - state.line);
    state.line = request.last_number;
    state.taken += sent.taken;
    state.duplicates += sent.duplicates;
    if (sent.dropped > 0) state.dropped = (state.dropped ?? 0) + sent.dropped;
    state.rejected += sent.rejected + request.rejected;
    if (request.joins.size > 0) state.joins = (state.joins ?? 0) + request.joins.size;
    await kept.save();
  };
  // Several requests run at a time, because they mostly wait for the store. Their answers count in
  // the order of the lines. Persons depend on the order of events, so a request that changes
  // persons runs alone.
  let underWay: Promise<void>[] = [];
  let isAlone = false;
  for await (const request of readRequests(source, mapping, state.line, complaints)) {
    if (isAlone || request.changes_persons) await Promise.all(underWay);
    else if (underWay.length >= requests_max) await underWay[0];
    target.signal.throwIfAborted();
    const sending =
      request.jsons.length === 0
        ? Promise.resolve({ taken: 0, duplicates: 0, dropped: 0, rejected: 0, refused: [] })
        : sendLines(target, request.jsons);
    const answered = Promise.all([sending, underWay.at(-1)]).then(([sent]) =>
      answer(request, sent),
    );
    // The error is thrown where the request is awaited.
    answered.catch(() => {});
    underWay = [...underWay, answered].slice(-requests_max);
    isAlone = request.changes_persons;
  }
  await Promise.all(underWay);
}

function stateFile(file: string): string {
  return `${file}.sluice-import`;
}

function howToGoOn(file: string, state: ImportState | undefined, total: number | undefined) {
  if (state === undefined) return 'Stopped before anything was sent.';
  const reached = `Stopped after line ${state.line} of ${total}.`;
  return file === '-'
    ? `${reached} Run the command with the same input again: no event is stored twice.`
    : `${reached} The same command continues from there.`;
}

function differentMapping(file: string, earlier: ImportState, now: ImportState): string {
  return [
    `Lines 1 to ${earlier.line} of this file were imported with another mapping:`,
    `  then  ${earlier.mapping}`,
    `  now   ${now.mapping}`,
    'Stored events do not change, so importing again does not put them right. Look with ' +
      '--dry-run until the',
    'mapping is right, then import into a project that does not have them. To send the file ' +
      'to this one all the',
    `same, delete ${stateFile(file)}: lines that are stored stay as they are, unless ` +
      '--uuid-field gives them',
    'other ids; then they are stored a second time.',
  ].join('\n');
}

function explainFile(file: string) {
  return (error: unknown): never => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'ENOENT') throw new UserError(`There is no file "${file}".`);
    if (code === 'EACCES' || code === 'EISDIR')
      throw new UserError(`The file "${file}" cannot be read.`);
    if (code.startsWith('Z_'))
      throw new UserError(`The gzip data of "${file}" is damaged or cut off.`);
    if (error instanceof CutOffArray)
      throw new UserError(`The JSON array in "${file}" has no end: the file is cut off.`);
    throw error;
  };
}
