/** A place in a file; lines and columns count from 1, and 0 means unknown. */
export type FilePlace = { file: string; line: number; column: number };

/** A fault of the files. */
export type FileFault = FilePlace & { detail: string };

/** A parsed value, with the place of each part by its path (names joined with dots). */
export type ReadValue = { value: unknown; places: Map<string, FilePlace> };

/** Returns faults as lines for people and editors, in the order of the files. */
export function faultLines(faults: readonly (FileFault | { detail: string })[]): string[] {
  const placed = faults.filter((fault) => 'file' in fault);
  const sorted = placed.toSorted(
    (one, other) =>
      Number(one.file > other.file) - Number(one.file < other.file) ||
      one.line - other.line ||
      one.column - other.column,
  );
  const rest = faults.flatMap((fault) => ('file' in fault ? [] : [fault.detail]));
  return [...sorted.map(faultLine), ...rest];
}

/** Returns a fault as a line: `file:line:column: detail`. */
function faultLine({ file, line, column, detail }: FileFault): string {
  return line === 0 ? `${file}: ${detail}` : `${file}:${line}:${column}: ${detail}`;
}

/**
 * Finds the path of the API's `attr` (names joined with `__`, the first one `configuration`), and
 * its place, or the place of the nearest enclosing part. Names may contain dots and `__`.
 */
export function openPlaces(
  places: ReadonlyMap<string, FilePlace>,
): (attr: string | null) => { path: string; place: FilePlace | undefined } {
  const by_attr = new Map([...places.keys()].map((path) => [path.replaceAll('.', '__'), path]));
  return (attr) => {
    const steps = (attr ?? '').split('__').slice(1);
    for (let length = steps.length; length > 0; length -= 1) {
      const found = by_attr.get(steps.slice(0, length).join('__'));
      if (found !== undefined)
        return { path: [found, ...steps.slice(length)].join('.'), place: places.get(found) };
    }
    return { path: steps.join('.'), place: undefined };
  };
}
