import { counted } from '../../platform/counted.ts';

/** Says when an interval is planned: `at the end`, or `15 seconds after the end`. */
export function afterEnd(settle_seconds: number): string {
  return settle_seconds === 0 ? 'at the end' : `${counted(settle_seconds, 'second')} after the end`;
}
