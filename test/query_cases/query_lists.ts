/** Joins this many pieces of a query with commas. */
export function list(count: number, create: (index: number) => string): string {
  return Array.from({ length: count }, (_unused, index) => create(index)).join(', ');
}

/** Columns x0, x1 and so on: the first is a length, and each other uses the previous one. */
export function columns(count: number, create: (before: string) => string): string {
  return list(count, (index) => {
    const value = index === 0 ? 'length(event)' : create(`x${index - 1}`);
    return `${value} AS x${index}`;
  });
}

/** Entries of WITH, x0, x1 and so on: the first reads events, and each other the previous one. */
export function entries(count: number, create: (before: string) => string): string {
  return list(count, (index) => {
    const select = index === 0 ? 'SELECT event FROM events' : create(`x${index - 1}`);
    return `x${index} AS (${select})`;
  });
}
