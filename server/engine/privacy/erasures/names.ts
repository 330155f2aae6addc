import { openTurns } from '../../../platform/pacing/turns.ts';

/** Shorter ids are parts of too many other texts. */
const id_length_min = 4;
/** At so many places others need no turn, however many ids begin as the text does there. */
const looked_at_once = 64;

/**
 * Gives the function that says whether a text has one of the distinct ids in it, as it is or as
 * JSON escapes it. It goes through a text once, however many ids there are, and gives turns to
 * others; those of less than four characters are left out.
 */
export function openNames(ids: Iterable<string>): (text: string) => Promise<boolean> {
  const names = new Set<string>();
  // By how a name begins: how long those are that begin so.
  const lengths = new Map<string, Set<number>>();
  for (const id of ids) {
    if (id.length < id_length_min) continue;
    // Values are JSON, and lines often have some: there quotes and backslashes are escaped.
    for (const name of [id, JSON.stringify(id).slice(1, -1)]) {
      names.add(name);
      const start = name.slice(0, id_length_min);
      const known = lengths.get(start);
      if (known === undefined) lengths.set(start, new Set([name.length]));
      else known.add(name.length);
    }
  }
  const isNamedAt = (text: string, at: number): boolean => {
    for (const length of lengths.get(text.slice(at, at + id_length_min)) ?? [])
      if (names.has(text.slice(at, at + length))) return true;
    return false;
  };
  const turn = openTurns();
  return async (text) => {
    for (let at = 0; at <= text.length - id_length_min; at += 1) {
      if (isNamedAt(text, at)) return true;
      if (at % looked_at_once !== 0) continue;
      const pause = turn();
      if (pause !== undefined) await pause;
    }
    return false;
  };
}
