import type { SlotRange } from '../../../server/api/batch_exports/slots/schema.ts';

/** A kind of slot on the map: what it is called, its colour, and whether it is hatched. */
export type Kind = {
  label: string;
  /** The class of its sign in the legend, and the colour that it is painted in. */
  sign: string;
  colour: string;
  is_hatched: boolean;
  /** Somebody may want to do something about it. */
  is_trouble: boolean;
};

const kind = (label: string, sign: string, colour: string, shown: Partial<Kind> = {}): Kind => ({
  label,
  sign,
  colour,
  is_hatched: false,
  is_trouble: false,
  ...shown,
});
const hatched = { is_hatched: true };
const trouble = { is_trouble: true };
const gap = { is_hatched: true, is_trouble: true };

/** The painted kinds, from the bottom of a column to its top. */
export const kinds = {
  outside: kind('Outside of the schedule', 'outside', '--panel'),
  waiting: kind('Waiting', 'waiting', '--line'),
  delivered: kind('Delivered', 'delivered', '--delivered'),
  under_way: kind('Under way', 'under_way', '--mantine-color-anchor'),
  made_later: kind('Missing: before the export was created', 'made_later', '--line', hatched),
  paused: kind('Missing: paused', 'paused', '--warn', gap),
  missing: kind('Missing', 'missing', '--bad', gap),
  in_doubt: kind('In doubt', 'in_doubt', '--warn', trouble),
  failed: kind('Failed', 'failed', '--bad', trouble),
} as const satisfies Record<string, Kind>;

/** The name of a kind. */
export type KindName = keyof typeof kinds;

/** The names in the order of a column. */
export const kind_names = Object.keys(kinds) as KindName[];

/** Returns the painted kind of a range. */
export function kindOf({ state, reason }: Pick<SlotRange, 'state' | 'reason'>): KindName {
  if (state !== 'missing') return state;
  return reason === 'paused' || reason === 'made_later' ? reason : 'missing';
}

const reason_words: Record<NonNullable<SlotRange['reason']>, string> = {
  paused: 'the export was paused',
  made_later: 'the export was created later',
  not_planned: 'not planned: the server was down or is behind',
  earlier_revision: 'delivered before the export was changed',
  cancelled: 'its run was cancelled',
  left_by_another_run: 'another run gave it back',
  schedule_changed: 'the schedule was moved past it',
  before_start: 'before the start of the export',
  after_end: 'after the end of the export',
};

/** Says the state of a range's slots in a few words. */
export function inWords({ state, reason }: Pick<SlotRange, 'state' | 'reason'>): string {
  const { label } = kinds[state];
  return reason === null ? label : `${label.split(':')[0]}: ${reason_words[reason]}`;
}
