/** Orders examples: the newest of each name, then the others. */
export function examplesOf<One extends { event: string }>(newest: readonly One[]): One[] {
  const isFirst = (one: One, at: number) =>
    newest.findIndex(({ event }) => event === one.event) === at;
  return [...newest.filter(isFirst), ...newest.filter((one, at) => !isFirst(one, at))];
}
