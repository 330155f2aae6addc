import type { SlotRange } from '../../../server/api/batch_exports/slots/schema.ts';

/** A kind of slot on the map: its name, and its drawing on the canvas and in the legend. */
export type Kind = {
  label: string;
  /** The variable of its colour; empty if it is not drawn. */
  colour: string;
  /** Lines over the colour, as an SVG path in a tile of 8 x 8, and the variable of their colour. */
  lines: string;
  ink: string;
  /** True if it has the mark of a failure before its delivery. */
  is_marked: boolean;
  /** True if it may need action. */
  is_trouble: boolean;
};

const slanted = 'M-2 6L6 -2M-2 10L10 -2M2 10L10 2';
const slanted_back = 'M10 6L2 -2M10 10L-2 -2M6 10L-2 2';
const bars = 'M2 -1V9M6 -1V9';
const levels = 'M-1 2H9M-1 6H9';
const crosses = 'M2 2L6 6M6 2L2 6';
const dots = 'M4 4H4.01';

const kind = (label: string, colour: string, shown: Partial<Kind> = {}): Kind => ({
  label,
  colour,
  lines: '',
  ink: '--page',
  is_marked: false,
  is_trouble: false,
  ...shown,
});
const gap = (label: string, lines: string, ink: string) =>
  kind(label, '--map-quiet', { lines, ink, is_trouble: true });

/** The painted kinds, from the bottom of a column to its top, by the names of `kindOf`. */
export const kinds = {
  not_asked: kind('No backfill', ''),
  outside: kind('Outside the schedule', '--map-quiet'),
  before: kind('Before this export', '--map-quiet', { lines: dots, ink: '--map-dots' }),
  waiting: kind('To come', '--map-waiting'),
  delivered: kind('Delivered', '--map-delivered'),
  retried: kind('Delivered after retries', '--map-delivered', { is_marked: true }),
  under_way: kind('In progress', '--map-busy', { lines: levels }),
  retrying: gap('Retrying', levels, '--map-warn'),
  paused: gap('Missing: paused', bars, '--map-warn'),
  missing: gap('Missing', slanted, '--map-bad'),
  in_doubt: kind('Uncertain', '--map-warn', { lines: slanted_back, is_trouble: true }),
  failed: kind('Failed', '--map-bad', { lines: crosses, is_trouble: true }),
} as const satisfies Record<string, Kind>;

/** The name of a kind. */
export type KindName = keyof typeof kinds;

/** The names in the order of a column. */
export const kind_names = Object.keys(kinds) as KindName[];

type Judged = Pick<SlotRange, 'state' | 'reason' | 'needed_retries'>;

/** Returns the painted kind of a range. */
export function kindOf({ state, reason, needed_retries }: Judged): KindName {
  if (needed_retries) return state === 'delivered' ? 'retried' : 'retrying';
  if (reason === 'made_later') return 'before';
  if (reason === 'no_backfill') return 'not_asked';
  return state === 'missing' && reason === 'paused' ? 'paused' : state;
}

/** Returns true for slots that a backfill can deliver. */
export function isSelectable({ state, reason }: Pick<SlotRange, 'state' | 'reason'>): boolean {
  return state === 'outside' ? reason === 'made_later' : state !== 'waiting';
}

const reason_words: Record<NonNullable<SlotRange['reason']>, string> = {
  paused: 'the export was paused',
  made_later: '',
  not_planned: 'not planned: the server was down or is behind',
  earlier_revision: 'delivered before the export restarted',
  cancelled: 'its run was cancelled',
  left_by_another_run: 'another run gave it back',
  schedule_changed: 'the schedule skipped it after a change',
  before_start: 'before the start of the export',
  after_end: 'after the end of the export',
  no_backfill: '',
};

/** Returns why slots are missing or outside, as a sentence; empty if the state implies it. */
export function reasonSentence({ reason }: Pick<SlotRange, 'reason'>): string {
  const words = reason === null ? '' : reason_words[reason];
  return words === '' ? '' : `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

/** Returns the state of a range's slots in a few words. */
export function inWords(range: Judged): string {
  const { label } = kinds[kindOf(range)];
  const words = range.reason === null ? '' : reason_words[range.reason];
  return words === '' ? label : `${label.split(':')[0]}: ${words}`;
}
