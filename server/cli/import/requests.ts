import type { Complaints } from './terminal.ts';
import { openMapper } from './mapping.ts';
import type { ImportMapping } from './mapping.ts';
import type { ImportSource } from './source.ts';

/**
 * Lines that are sent together: their events and numbers, and how many lines before `last_number`
 * cannot become an event. `joins` are the indexes of events that come from no line, and join the
 * ids of the next one.
 */
export type ImportRequest = {
  numbers: number[];
  jsons: string[];
  joins: Set<number>;
  /** True if it changes persons, which depend on the order of events. */
  changes_persons: boolean;
  last_number: number;
  rejected: number;
};

/** Matches changes of persons: properties, and the ids of a merge. */
const of_persons = /"(?:\$set|\$set_once|\$unset|\$anon_distinct_id|alias)":/;

const lines_max = 10_000;
const characters_max = 8 * 1024 * 1024;

/**
 * Reads the lines after number `after` and divides them into requests, in order. It reports and
 * counts lines that cannot become an event.
 */
export async function* readRequests(
  source: ImportSource,
  mapping: ImportMapping,
  after: number,
  complaints: Pick<Complaints, 'line' | 'renamed'>,
): AsyncGenerator<ImportRequest> {
  const begin = (last_number: number): ImportRequest => ({
    numbers: [],
    jsons: [],
    joins: new Set(),
    changes_persons: false,
    last_number,
    rejected: 0,
  });
  const map = openMapper(source.sha256, mapping);
  let request = begin(after);
  let characters = 0;
  for await (const lines of source.lines()) {
    for (const line of lines) {
      if (line.number <= after) continue;
      request.last_number = line.number;
      const mapped =
        line.problem === undefined
          ? map(line.text, line.number)
          : { problem: unreadable[line.problem] };
      if (mapped.json === undefined) {
        complaints.line(line.number, mapped.problem);
        request.rejected += 1;
        continue;
      }
      if (mapped.join !== undefined) {
        request.joins.add(request.jsons.length);
        request.numbers.push(line.number);
        request.jsons.push(mapped.join);
      }
      for (const [from, to] of mapped.renamed) complaints.renamed(line.number, from, to);
      request.numbers.push(line.number);
      request.jsons.push(mapped.json);
      request.changes_persons ||= mapped.join !== undefined || of_persons.test(mapped.json);
      characters += mapped.json.length;
      if (request.jsons.length < lines_max && characters < characters_max) continue;
      yield request;
      request = begin(line.number);
      characters = 0;
    }
  }
  if (request.jsons.length > 0 || request.rejected > 0) yield request;
}

const unreadable = {
  too_long: 'This line is longer than 20 MiB.',
  not_utf8: 'This line is not UTF-8.',
} as const;
