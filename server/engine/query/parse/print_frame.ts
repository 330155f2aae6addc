import type { Frame, FrameBound } from './tree.ts';

/** Prints a frame in a form that ClickHouse also reads. */
export function printFrame({ unit, from, to }: Frame): string {
  return `${unit} BETWEEN ${printBound(from)} AND ${printBound(to)}`;
}

function printBound(bound: FrameBound): string {
  return bound.kind === 'current'
    ? 'CURRENT ROW'
    : `${bound.rows ?? 'UNBOUNDED'} ${bound.kind === 'preceding' ? 'PRECEDING' : 'FOLLOWING'}`;
}
