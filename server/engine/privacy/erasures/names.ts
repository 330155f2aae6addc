import { openTurns } from '../../../platform/pacing/turns.ts';

/** Shorter ids occur in too many other texts. */
const id_length_min = 4;
/** Checks of so many positions yield to other work only once, however many ids begin there. */
const looked_at_once = 64;

/**
 * Returns a function that finds any of the distinct ids in a text, plain or JSON-escaped. It scans
 * a text once, however many ids there are, and yields to other work. Ids shorter than four
 * characters are left out.
 */
export function openNames(ids: Iterable<string>): (text: string) => Promise<boolean> {
  const names = new Set<string>();
  // The lengths of the names, by their first characters.
  const lengths = new Map<string, Set<number>>();
  for (const id of ids) {
    if (id.length < id_length_min) continue;
    // Values are JSON, and lines often contain JSON: quotes and backslashes are escaped there.
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
