/** The budget of a comparison: characters read, steps, characters written. */
export type Budget = { read: number; steps: number; said: number };

const context = 3;
/** Texts that differ in more lines are shown as two texts. */
const edits_max = 400;
/** Most lines of a text; each line costs memory. */
const lines_max = 20_000;
const unended = '\n\\ No newline at end of file';

/**
 * Returns the different lines of two texts in the unified format, with three lines of context. Null
 * if they are too long, differ too much, or have used up the budget, which each call reduces.
 */
export function lineDifferences(before: string, after: string, budget: Budget): string | null {
  budget.read -= before.length + after.length;
  if (budget.read < 0) return null;
  const [one, other] = [linesOf(before), linesOf(after)];
  if (one.length + other.length > lines_max) return null;
  const edits = editsBetween(one, other, budget);
  if (edits === undefined) return null;
  const text = hunksOf(edits);
  budget.said -= text.length;
  return budget.said < 0 ? null : text;
}

/** Returns the lines; a note marks a missing newline at the end. */
function linesOf(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  else lines[lines.length - 1] += unended;
  return lines;
}

/** A line that stays, is removed or is added. */
type Edit = { sign: ' ' | '-' | '+'; line: string };

const signed = (sign: Edit['sign']) => (line: string) => ({ sign, line });

function editsBetween(one: string[], other: string[], budget: Budget): Edit[] | undefined {
  let start = 0;
  while (start < one.length && one[start] === other[start]) start += 1;
  let [end, other_end] = [one.length, other.length];
  while (end > start && other_end > start && one[end - 1] === other[other_end - 1]) {
    end -= 1;
    other_end -= 1;
  }
  const middle = shortestEdits(one.slice(start, end), other.slice(start, other_end), budget);
  if (middle === undefined) return undefined;
  const same = signed(' ');
  return [...one.slice(0, start).map(same), ...middle, ...one.slice(end).map(same)];
}

/** Returns the fewest removed and added lines, by the greedy algorithm of Myers (1986). */
function shortestEdits(one: string[], other: string[], budget: Budget): Edit[] | undefined {
  // If one text is empty, no search is needed.
  if (one.length === 0 || other.length === 0)
    return [...one.map(signed('-')), ...other.map(signed('+'))];
  const middle = edits_max + 1;
  const furthest = new Int32Array(2 * middle + 1);
  const trace: Int32Array[] = [];
  for (let count = 0; count <= edits_max; count += 1) {
    trace.push(furthest.slice());
    for (let diagonal = -count; diagonal <= count; diagonal += 2) {
      let x = isDown(furthest, middle, diagonal, count)
        ? furthest[middle + diagonal + 1]!
        : furthest[middle + diagonal - 1]! + 1;
      const from = x;
      while (x < one.length && x < other.length + diagonal && one[x] === other[x - diagonal])
        x += 1;
      budget.steps -= 1 + x - from;
      furthest[middle + diagonal] = x;
      if (x >= one.length && x - diagonal >= other.length)
        return editsAlong(trace, one, other, middle);
    }
    if (budget.steps < 0) return undefined;
  }
  return undefined;
}

/** Returns true if the path to a diagonal came from above: by an added line. */
function isDown(furthest: Int32Array, middle: number, diagonal: number, count: number): boolean {
  if (diagonal === -count) return true;
  if (diagonal === count) return false;
  return furthest[middle + diagonal - 1]! < furthest[middle + diagonal + 1]!;
}

function editsAlong(trace: Int32Array[], one: string[], other: string[], middle: number): Edit[] {
  const edits: Edit[] = [];
  let [x, y] = [one.length, other.length];
  for (let count = trace.length - 1; count >= 0; count -= 1) {
    const furthest = trace[count]!;
    const diagonal = x - y;
    const is_down = isDown(furthest, middle, diagonal, count);
    const from = diagonal + (is_down ? 1 : -1);
    const [to_x, to_y] =
      count === 0 ? [0, 0] : [furthest[middle + from]!, furthest[middle + from]! - from];
    while (x > to_x && y > to_y) {
      x -= 1;
      y -= 1;
      edits.push({ sign: ' ', line: one[x]! });
    }
    if (count === 0) break;
    if (is_down) {
      y -= 1;
      edits.push({ sign: '+', line: other[y]! });
    } else {
      x -= 1;
      edits.push({ sign: '-', line: one[x]! });
    }
  }
  return edits.toReversed();
}

/** Returns the edits with their context, each part with its position in both texts. */
function hunksOf(edits: Edit[]): string {
  const changed = edits.flatMap(({ sign }, at) => (sign === ' ' ? [] : [at]));
  const spans: { from: number; to: number }[] = [];
  for (const at of changed) {
    const last = spans.at(-1);
    if (last !== undefined && at - context <= last.to) last.to = at + context + 1;
    else spans.push({ from: Math.max(0, at - context), to: at + context + 1 });
  }
  const counts = { before: 0, after: 0 };
  let done = 0;
  const skip = (to: number) => {
    for (const { sign } of edits.slice(done, to)) {
      if (sign !== '+') counts.before += 1;
      if (sign !== '-') counts.after += 1;
    }
    done = to;
  };
  return spans
    .map(({ from, to }) => {
      skip(from);
      const [before, after] = [counts.before, counts.after];
      skip(Math.min(to, edits.length));
      const head = `@@ -${place(before, counts.before)} +${place(after, counts.after)} @@\n`;
      return (
        head + edits.slice(from, to).reduce((text, { sign, line }) => `${text}${sign}${line}\n`, '')
      );
    })
    .join('');
}

/** Returns the first line and the number of lines; for none, the line before. */
function place(from: number, to: number): string {
  return to === from ? `${from},0` : `${from + 1},${to - from}`;
}
