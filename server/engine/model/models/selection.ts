import type { Rectangle } from '../ledger/rectangles.ts';
import type { QueryText } from './model.ts';

/**
 * Returns a selection as a ClickHouse condition over the given columns. Bounds are DateTime64(6)
 * literals from whole milliseconds. No row meets the condition of an empty selection. The text
 * begins with the common range of insertion time, so that the primary key narrows the scan before
 * the rectangles are compared.
 */
export function selectionCondition(
  selection: Rectangle[],
  columns: { event: string | undefined; inserted: string },
): string {
  if (selection.length === 0) return '0';
  const from = Math.min(...selection.map((side) => side.inserted_from));
  const to = Math.max(...selection.map((side) => side.inserted_to));
  const common = rangeCondition(columns.inserted, from, to);
  if (selection.length === 1)
    return (
      [
        common,
        columns.event === undefined
          ? ''
          : rangeCondition(columns.event, selection[0]!.event_from, selection[0]!.event_to),
      ]
        .filter(isText)
        .join(' AND ') || '1'
    );
  const parts = selection.map((side) => {
    const both = [
      rangeCondition(columns.inserted, side.inserted_from, side.inserted_to),
      columns.event === undefined
        ? ''
        : rangeCondition(columns.event, side.event_from, side.event_to),
    ];
    return both.filter(isText).join(' AND ') || '1';
  });
  return [common, `(${parts.join(' OR ')})`].filter(isText).join(' AND ');
}

/** Returns the relation's parameters for one project. */
export function teamParameter(teamId: number): QueryText['parameters'] {
  return { team_id: teamId };
}

function isText(part: string): boolean {
  return part !== '';
}

function rangeCondition(column: string, from: number, to: number): string {
  const parts: string[] = [];
  if (Number.isFinite(from)) parts.push(`${column} >= ${instantLiteral(from)}`);
  if (Number.isFinite(to)) parts.push(`${column} < ${instantLiteral(to)}`);
  return parts.join(' AND ');
}

function instantLiteral(milliseconds: number): string {
  if (!Number.isSafeInteger(milliseconds))
    throw new RangeError('A bound of a selection must be a whole number of milliseconds.');
  return `fromUnixTimestamp64Milli(${milliseconds}, 'UTC')`;
}
