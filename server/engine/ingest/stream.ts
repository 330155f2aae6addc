import { openTurns } from '../../platform/pacing/turns.ts';
import { aside_bytes_min, readLineAside, readListAside } from './parse/aside.ts';
import type { Ingestion, Stored, TakeFailure } from './batcher.ts';
import { openJudge } from './rules/intake.ts';
import type { Intake } from './rules/intake.ts';
import { tallyOf } from './rules/tally.ts';
import type { EventProblem, IncomingEvent, ReadEvent } from './parse/event.ts';
import { readEventList } from './parse/event_list.ts';
import type { FaultyList } from './parse/event_list.ts';
import { line_bytes_max, readLines } from './parse/lines.ts';
import type { Line, LongLine } from './parse/lines.ts';
import { parseEvent, readEvent } from './parse/parse.ts';

/**
 * A violation in one line or item; `position` is the line's number from 1, or the item's index from
 * 0.
 */
export type PlacedProblem = EventProblem & { position: number };

/**
 * The outcome of a stream or list of events. `problems` has the first 1000; `rejected` counts every
 * bad line.
 */
export type Taken = {
  taken: number;
  duplicates: number;
  /** Events of erased persons, which are not stored. */
  refused: number;
  /** Events that a rule of their project dropped. */
  dropped: number;
  rejected: number;
  problems: PlacedProblem[];
  /** Some events could not be stored; those counted as accepted were. */
  failure?: TakeFailure;
  /**
   * The stream broke (a broken archive, a lost connection); the events before were stored as
   * counted.
   */
  broken?: { after_line: number; error: unknown };
};

/** Most violations that are listed; the others are only counted. */
const problems_max = 1_000;

const group_rows_max = 1_000;
const group_bytes_max = 1024 * 1024;
// Number of waiting groups of one stream: enough for a full batch while another is being written.
const groups_waiting_max = 20;

/**
 * Ingests NDJSON from a stream of plain bytes while it is being read. Guarantees: memory does not
 * grow with the stream. A bad line is listed and the others are accepted. Blank lines are skipped.
 * The answer comes when all accepted events are stored. Never throws because of the stream's
 * content or its end. Calls `hold` with the number of buffered bytes of a line; an error from it
 * breaks the stream.
 */
export async function takeLines(
  ingestion: Ingestion,
  teamId: number,
  source: AsyncIterable<Buffer>,
  nowMilliseconds: () => number,
  hold: (bytes: number) => void = () => {},
): Promise<Taken> {
  const taker = openTaker(ingestion, teamId);
  const turn = openTurns();
  let lastLine = 0;
  try {
    for await (const lines of readLines(source, line_bytes_max, aside_bytes_min, hold)) {
      // Read again for each part: the rules may change during the stream.
      const intake = await ingestion.intakeOf(teamId);
      for (const line of lines) {
        lastLine = line.number;
        const reading = readLine(line, nowMilliseconds(), intake);
        const read = reading instanceof Promise ? await reading : reading;
        const full = read === undefined ? undefined : taker.take(line.number, read);
        if (full !== undefined) await full;
        const pause = turn();
        if (pause !== undefined) await pause;
      }
      // No later event would be counted after a failed batch, so the sender gets the error now.
      if (taker.hasFailed()) break;
    }
  } catch (error) {
    return { ...(await taker.finish()), broken: { after_line: lastLine, error } };
  }
  return taker.finish();
}

/** Reads a line; undefined for a blank one. */
function readLine(
  line: Line | LongLine,
  now: number,
  intake: Intake | undefined,
): ReadEvent | undefined | Promise<ReadEvent | undefined> {
  if (line.problem !== undefined) return { problems: [lineProblem(line.problem)] };
  if (line.bytes !== undefined) return readLineAside(line.bytes, now, intake);
  return parseEvent(line.text, now, judgeOf(intake));
}

function judgeOf(intake: Intake | undefined) {
  return intake === undefined ? undefined : openJudge(intake);
}

/** The outcome of a list of events. */
export type TakenList = Taken & { is_list: boolean };

/**
 * Ingests the JSON of a body with a list of events or one event, with the guarantees of
 * `takeLines`; positions are indexes from 0. A fault of the whole body stores nothing. A thread
 * reads a long body; its bytes are no longer usable afterwards.
 */
export async function takeList(
  ingestion: Ingestion,
  teamId: number,
  bytes: Buffer,
  nowMilliseconds: () => number,
): Promise<TakenList | FaultyList> {
  if (bytes.length < aside_bytes_min) {
    const list = readEventList(bytes);
    if ('fault' in list) return list;
    const taken = await takeEvents(ingestion, teamId, list.values, nowMilliseconds);
    return { ...taken, is_list: list.is_list };
  }
  const intake = await ingestion.intakeOf(teamId);
  const list = await readListAside(bytes, nowMilliseconds(), intake);
  if ('fault' in list) return list;
  return { ...(await takeReads(ingestion, teamId, list.reads)), is_list: list.is_list };
}

/**
 * Ingests parsed events in small groups, with the guarantees of `takeLines`; positions are indexes
 * from 0. Rejects if reading fails.
 */
export async function takeReads(
  ingestion: Ingestion,
  teamId: number,
  source: AsyncIterable<ReadEvent[]> | Iterable<ReadEvent[]>,
): Promise<Taken> {
  const taker = openTaker(ingestion, teamId);
  let index = 0;
  for await (const reads of source) {
    for (const read of reads) {
      const full = taker.take(index, read);
      if (full !== undefined) await full;
      index += 1;
    }
    // No later event would be counted after a failed batch, so the sender gets the error now.
    if (taker.hasFailed()) break;
  }
  return taker.finish();
}

/**
 * Ingests a list of parsed events, with the guarantees of `takeLines`; positions are indexes from
 * 0.
 */
export async function takeEvents(
  ingestion: Ingestion,
  teamId: number,
  values: unknown[],
  nowMilliseconds: () => number,
): Promise<Taken> {
  const taker = openTaker(ingestion, teamId);
  const turn = openTurns();
  const judge = judgeOf(await ingestion.intakeOf(teamId));
  for (const [index, value] of values.entries()) {
    const full = taker.take(index, readEvent(value, nowMilliseconds(), judge));
    if (full !== undefined) await full;
    const pause = turn();
    if (pause !== undefined) await pause;
  }
  return taker.finish();
}

/** Accepts everything and stores nothing, for requests that only check their events. */
export function checkOnly({ intakeOf }: Pick<Ingestion, 'intakeOf'>): Ingestion {
  return {
    add: async (_teamId, events) => ({
      stored: Promise.resolve({ taken: events.length, duplicates: 0, refused: 0 }),
    }),
    intakeOf,
    countDropped: () => {},
    drain: async () => {},
  };
}

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
  const counts = { taken: 0, duplicates: 0, refused: 0, dropped: 0, rejected: 0 };
  const result: Taken = { ...counts, problems: [] };
  const dropped_by: string[] = [];
  const waiting = new Set<Promise<void>>();
  let group: IncomingEvent[] = [];
  let groupBytes = 0;
  const settle = (stored: Stored) => {
    if (stored.failure !== undefined) result.failure = stored.failure;
    else {
      result.taken += stored.taken;
      result.duplicates += stored.duplicates;
      result.refused += stored.refused;
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
    /** Returns a promise to wait for once a group is full. */
    take: (position: number, read: ReadEvent): Promise<void> | undefined => {
      if (read.dropped_by !== undefined) {
        result.dropped += 1;
        dropped_by.push(read.dropped_by);
        return undefined;
      }
      if (read.event === undefined) {
        result.rejected += 1;
        for (const problem of read.problems)
          if (result.problems.length < problems_max) result.problems.push({ ...problem, position });
        return undefined;
      }
      group.push(read.event);
      groupBytes += read.event.bytes;
      return group.length >= group_rows_max || groupBytes >= group_bytes_max ? send() : undefined;
    },
    hasFailed: () => result.failure !== undefined,
    finish: async () => {
      if (group.length > 0 && result.failure === undefined) await send();
      await Promise.all(waiting);
      // The sender retries a failed request.
      if (result.failure === undefined)
        for (const [source, events] of tallyOf(dropped_by))
          ingestion.countDropped(teamId, source, events);
      return result;
    },
  };
}
