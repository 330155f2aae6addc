/**
 * The outcomes for an event with a warning: it is not stored. It is stored with changes. It is
 * stored unchanged and is probably wrong. Its changes to persons were not made. It was stored
 * before. Or its sender was told to retry.
 */
export const warning_outcomes = [
  'refused',
  'changed',
  'kept',
  'not_merged',
  'repeated',
  'put_off',
] as const;

export type WarningOutcome = (typeof warning_outcomes)[number];

/**
 * Why an event was not accepted unchanged, with its outcome. The list is closed:
 * docs/ingestion_warnings.md explains each.
 */
export const warning_reasons = {
  clock_skew_mended: 'changed',
  distinct_id_cut: 'changed',
  distinct_id_made: 'changed',
  distinct_id_missing: 'refused',
  distinct_id_not_text: 'changed',
  duplicate: 'repeated',
  erased_person_left_out: 'changed',
  erased_person_refused: 'refused',
  event_invalid: 'refused',
  event_name_cut: 'changed',
  event_name_missing: 'refused',
  event_refused: 'refused',
  event_too_large: 'refused',
  feature_off: 'refused',
  group_ignored: 'kept',
  group_set_ignored: 'kept',
  internal_dropped: 'refused',
  invalid_number_replaced: 'changed',
  invalid_utf8_replaced: 'changed',
  merge_of_identified: 'not_merged',
  merge_of_illegal_id: 'not_merged',
  merge_of_too_many_ids: 'not_merged',
  merged_properties_too_large: 'changed',
  null_characters_replaced: 'changed',
  person_too_large: 'changed',
  off_plan: 'kept',
  off_plan_refused: 'refused',
  properties_ignored: 'changed',
  request_put_off: 'put_off',
  request_refused: 'refused',
  robot_dropped: 'refused',
  set_ignored: 'changed',
  timestamp_clamped: 'changed',
  timestamp_ignored: 'changed',
  timestamp_of_1970: 'kept',
  uuid_replaced: 'changed',
} as const satisfies Record<string, WarningOutcome>;

export type WarningReason = keyof typeof warning_reasons;

/** An example of a warning, from an event; texts are cut. */
export type WarningExample = {
  /** The source of the event, if known: a protocol, or `events`. */
  from?: string | undefined;
  event?: string | undefined;
  distinct_id?: string | undefined;
  uuid?: string | undefined;
  /** The value that was changed or refused, or its error. */
  sent?: string | undefined;
};

/**
 * Data that was not accepted unchanged. `events` is the number of affected events, 1 by default.
 */
export type Warning = {
  team_id: number;
  reason: WarningReason;
  example: WarningExample;
  events?: number;
};

/** Records a warning: cheap, never throws; it is stored within about a second. */
export type NoteWarning = (warning: Warning) => void;

/** Counts of a project, an hour and a reason that are not stored yet. */
export type PendingWarning = {
  team_id: number;
  hour: string;
  reason: WarningReason;
  events: number;
  last_at: string;
  examples: (WarningExample & { at: string })[];
};
