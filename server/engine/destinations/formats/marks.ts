/**
 * Counts of values that their place could not store: JSON that became `text`, and values that were
 * `altered` by removed or replaced characters.
 */
export type ChangedValues = { text: number; altered: number };

// Bytes that never occur in UTF-8 text, and so in none of ClickHouse's checked values.
const marks: Record<keyof ChangedValues, number> = { text: 0xff, altered: 0xfe };

/**
 * Returns ClickHouse text for a value with the mark of a change in front, which `openUnmarking`
 * counts and removes.
 */
export function markedAs(change: keyof ChangedValues, value: string): string {
  return `concat(${markOf(change)}, ${value})`;
}

/** Returns ClickHouse text for such a mark. */
export function markOf(change: keyof ChangedValues): string {
  return `'\\x${marks[change].toString(16)}'`;
}

/**
 * Removes the marks from UTF-8 bytes as they pass and counts them in `changed`. A chunk without
 * marks is passed on unchanged; the search takes a fortieth of the time for hashing it.
 */
export function openUnmarking(): { changed: ChangedValues; take(chunk: Buffer): Buffer } {
  const changed: ChangedValues = { text: 0, altered: 0 };
  const take = (chunk: Buffer): Buffer => {
    let rest = chunk;
    for (const change of ['text', 'altered'] as const) rest = without(rest, change);
    return rest;
  };
  const without = (chunk: Buffer, change: keyof ChangedValues): Buffer => {
    const parts: Buffer[] = [];
    let from = 0;
    for (
      let at = chunk.indexOf(marks[change]);
      at !== -1;
      at = chunk.indexOf(marks[change], from)
    ) {
      parts.push(chunk.subarray(from, at));
      from = at + 1;
      changed[change] += 1;
    }
    return from === 0 ? chunk : Buffer.concat([...parts, chunk.subarray(from)]);
  };
  return { changed, take };
}

/** Returns a sentence about values that their place could not store; undefined without any. */
export function sayChanged({ text, altered }: ChangedValues): string | undefined {
  const values = (count: number) => `${count} ${count === 1 ? 'value' : 'values'}`;
  const parts = [
    ...(text > 0 ? [`${values(text)} could not be held as JSON and became text`] : []),
    ...(altered > 0 ? [`of ${values(altered)} characters were removed or replaced`] : []),
  ];
  return parts.length === 0
    ? undefined
    : `${parts.join('; ')}. The docs page of the destination lists the values that it cannot hold.`;
}
