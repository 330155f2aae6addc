import type { Ingestion, Stored } from './batcher.ts';
import type { EventProblem, IncomingEvent, ReadEvent } from './event.ts';
import type { FlushFailure } from './flush.ts';
import { line_bytes_max, readLines } from './lines.ts';
import { parseEvent, readEvent } from './parse.ts';

/** A violation in one line or item; `position` is the line's number from 1, or the item's index from 0. */
export type PlacedProblem = EventProblem & { position: number };

/** What became of a stream or list of events. `problems` holds the first 1000; `rejected` counts every bad line. */
export type Taken = {
  taken: number;
  duplicates: number;
  rejected: number;
  problems: PlacedProblem[];
  /** Some events could not be stored; those that are counted as taken were. */
  failure?: FlushFailure;
  /** The stream broke (a broken archive, a lost connection); what came before was stored as counted. */
  broken?: { after_line: number; error: unknown };
};

/** Most violations that are named; the others are counted only. */
const problems_max = 1_000;

const group_rows_max = 1_000;
const group_bytes_max = 1024 * 1024;
// So many groups of one stream may wait: enough for a full batch while another is being written.
const groups_waiting_max = 20;

/**
 * Takes NDJSON from a stream of plain bytes while it is being read. Guarantees: memory does not grow with the stream; a bad line is named and the others are taken; blank
 * lines are skipped; the answer comes when everything counted as taken is stored. Never throws for what the stream holds or how it ends.
 */
export async function takeLines(
  ingestion: Ingestion,
  teamId: number,
  source: AsyncIterable<Buffer>,
  nowMilliseconds: () => number,
): Promise<Taken> {
  const taker = openTaker(ingestion, teamId);
  let lastLine = 0;
  try {
    for await (const lines of readLines(source)) {
      for (const line of lines) {
        lastLine = line.number;
        const read =
          line.problem === undefined
            ? parseEvent(line.text, nowMilliseconds())
            : { problems: [lineProblem(line.problem)] };
        await taker.take(line.number, read);
      }
      // Nothing after a batch that failed would be counted, so the sender learns of it now.
      if (taker.hasFailed()) break;
    }
  } catch (error) {
    return { ...(await taker.finish()), broken: { after_line: lastLine, error } };
  }
  return taker.finish();
}

/** Takes a list of parsed events; the same guarantees as `takeLines`, positions are indexes from 0. */
export async function takeEvents(
  ingestion: Ingestion,
  teamId: number,
  values: unknown[],
  nowMilliseconds: () => number,
): Promise<Taken> {
  const taker = openTaker(ingestion, teamId);
  for (const [index, value] of values.entries())
    await taker.take(index, readEvent(value, nowMilliseconds()));
  return taker.finish();
}

/** Takes everything and stores nothing, for requests that only want to know what is wrong with their events. */
export const checkOnly: Ingestion = {
  add: async (_teamId, events) => ({
    stored: Promise.resolve({ taken: events.length, duplicates: 0 }),
  }),
  drain: async () => {},
};

function lineProblem(problem: 'too_long' | 'not_utf8'): EventProblem {
  if (problem === 'too_long')
    return {
      attr: null,
      code: 'max_length',
      detail: `A line may have at most ${line_bytes_max / 1024 / 1024} MiB.`,
    };
  return { attr: null, code: 'parse_error', detail: 'This line is not UTF-8.' };
}

function openTaker(ingestion: Ingestion, teamId: number) {
  const result: Taken = { taken: 0, duplicates: 0, rejected: 0, problems: [] };
  const waiting = new Set<Promise<void>>();
  let group: IncomingEvent[] = [];
  let groupBytes = 0;
  const settle = (stored: Stored) => {
    if (stored.failure !== undefined) result.failure = stored.failure;
    else {
      result.taken += stored.taken;
      result.duplicates += stored.duplicates;
    }
  };
  const send = async () => {
    const events = group;
    group = [];
    groupBytes = 0;
    const { stored } = await ingestion.add(teamId, events);
    const done = stored.then(settle);
    waiting.add(done);
    void done.then(() => waiting.delete(done));
    if (waiting.size >= groups_waiting_max) await Promise.race(waiting);
  };
  return {
    take: async (position: number, read: ReadEvent) => {
      if (read.event === undefined) {
        result.rejected += 1;
        for (const problem of read.problems)
          if (result.problems.length < problems_max) result.problems.push({ ...problem, position });
        return;
      }
      group.push(read.event);
      groupBytes += read.event.bytes;
      if (group.length >= group_rows_max || groupBytes >= group_bytes_max) await send();
    },
    hasFailed: () => result.failure !== undefined,
    finish: async () => {
      if (group.length > 0 && result.failure === undefined) await send();
      await Promise.all(waiting);
      return result;
    },
  };
}
