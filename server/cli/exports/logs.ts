import { setTimeout as delay } from 'node:timers/promises';
import { openApi } from '../client/api.ts';
import type { Api, Page } from '../client/api.ts';
import { coloured, say } from '../client/print.ts';
import type { Mood, Output } from '../client/print.ts';
import { askUntil } from '../client/poll.ts';
import { readCount } from '../client/read_options.ts';
import type { ReadFlags } from '../client/read_options.ts';
import { oneLine } from '../shown_text.ts';
import { terminalText } from '../../platform/terminal_text.ts';
import { exportPath, findExportId } from './find_export.ts';
import { shownInstant } from './shown_export.ts';

type LogFlags = ReadFlags & {
  follow?: boolean;
  run?: string;
  level?: string;
  limit: string;
};

type Line = { timestamp: string; level: string; message: string; run: string | null };

const pause_ms = 1_000;
const page_lines_max = 500;
/** Lines that another process commits late are older than lines that were already read. */
const overlap_ms = 10_000;
const moods: Partial<Record<string, Mood>> = { ERROR: 'bad', WARNING: 'busy', DEBUG: 'quiet' };

/** `sluice exports logs`: the log of an export, oldest line first; with `--follow` new ones too. */
export async function showLogs(output: Output, name: string, flags: LogFlags): Promise<number> {
  const api = openApi(flags);
  const id = await findExportId(api, name);
  const of = flags.run === undefined ? 'logs/' : `runs/${encodeURIComponent(flags.run)}/logs/`;
  const path = exportPath(api, id, of);
  const limit = readCount('--limit', flags.limit);
  const first = await api.list<Line>(path, limit, { level: flags.level });
  print(output, first.toReversed(), flags);
  if (flags.follow !== true) return 0;
  // Runs until the person ends the command.
  return follow(api, path, { output, flags, newest: first[0]?.timestamp });
}

type Following = { output: Output; flags: LogFlags; newest: string | undefined };

async function follow(api: Api, path: string, following: Following): Promise<never> {
  const { output, flags } = following;
  let newest = following.newest ?? new Date(0).toISOString();
  const read = async () => {
    const after = new Date(Math.max(0, Date.parse(newest) - overlap_ms)).toISOString();
    const query = { level: flags.level, after, limit: page_lines_max };
    const { results } = await askUntil(
      () => api.get<Page<Line>>(path, { query }),
      () => true,
      () => undefined,
    );
    return { after, results };
  };
  const known = (await read()).results.filter(({ timestamp }) => timestamp <= newest);
  const seen = new Map(known.map((line) => [keyOf(line), line.timestamp]));
  for (;;) {
    const { after, results } = await read();
    const fresh = results.filter((line) => !seen.has(keyOf(line))).toReversed();
    print(output, fresh, flags);
    for (const line of fresh) seen.set(keyOf(line), line.timestamp);
    newest = results[0]?.timestamp ?? newest;
    for (const [key, timestamp] of seen) if (timestamp < after) seen.delete(key);
    await delay(pause_ms);
  }
}

function keyOf({ timestamp, run, message }: Line): string {
  return JSON.stringify([timestamp, run, message]);
}

function print(output: Output, lines: readonly Line[], { json }: ReadFlags): void {
  for (const line of lines) {
    if (json === true) {
      // One object a line, so that a reader can parse the stream.
      say(output, JSON.stringify(line));
      continue;
    }
    const at = shownInstant(output, line.timestamp);
    const text = terminalText(oneLine(line.message));
    if (!output.is_terminal) output.write(`${at}\t${line.level}\t${text}\n`);
    else {
      const mood = moods[line.level];
      const level = line.level.padEnd(7);
      const shown = mood === undefined ? level : coloured(output, mood, level);
      output.write(`${at}  ${shown}  ${text}\n`);
    }
  }
}
