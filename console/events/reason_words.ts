import type { IngestionWarningRow } from '../../server/api/ingestion_warnings/schema.ts';

/** Each reason in words. */
export const reason_words: Record<IngestionWarningRow['reason'], string> = {
  clock_skew_mended: 'The clock of the sender was wrong; the time was shifted.',
  distinct_id_cut: 'The distinct id was too long and was cut.',
  distinct_id_made: 'It had no person and got a new distinct id.',
  distinct_id_missing: 'It has no distinct id.',
  distinct_id_not_text: 'The distinct id is an object or a list, not text.',
  duplicate: 'It was sent again, and is stored already.',
  erased_person_left_out: 'Its person was erased. It was stored without the person.',
  erased_person_refused: 'Its person was erased.',
  event_invalid: 'A field has an invalid value.',
  event_name_cut: 'The name was too long and was cut.',
  event_name_missing: 'It has no name.',
  event_refused: 'It is nested too deeply.',
  event_too_large: 'It is too large.',
  feature_off: 'It belongs to a feature that is off here, so it was not stored.',
  group_ignored: 'The type or key of its group cannot be used, so it changes no group.',
  group_set_ignored: 'The group properties to set are not an object.',
  internal_dropped: 'It came from an internal address.',
  invalid_number_replaced: 'A number was NaN or Infinity and became null.',
  invalid_utf8_replaced: 'Bytes that are not UTF-8 text were replaced.',
  merge_of_identified: 'The other person is identified already, so the persons were not merged.',
  merge_of_illegal_id: 'One of the distinct ids is not allowed.',
  merge_of_too_many_ids: 'The other person has too many distinct ids.',
  merged_properties_too_large:
    'The persons were merged without some properties of the other person.',
  null_characters_replaced: 'Null characters were replaced.',
  off_plan: 'It differs from the tracking plan.',
  off_plan_refused: 'It differs from the tracking plan.',
  person_too_large: 'The person would become too large, and stays unchanged.',
  properties_ignored: 'The properties are not an object and were left out.',
  request_put_off: 'The server asked the sender to send the whole request again.',
  request_refused: 'The whole request could not be read or was too large.',
  robot_dropped: 'It came from a bot.',
  set_ignored: 'The person properties to set are not an object.',
  timestamp_clamped: 'The time is in the future and was replaced by the time of arrival.',
  timestamp_ignored: 'The time could not be read and was replaced by the time of arrival.',
  timestamp_of_1970: 'The time is in 1970: the clock of the sender was never set.',
  uuid_replaced: 'The uuid is not valid and was replaced.',
};

/** Results of an event, as a word and a colour. */
export const outcome_words: Record<IngestionWarningRow['outcome'], [word: string, look: string]> = {
  refused: ['Refused', 'bad'],
  changed: ['Changed', 'warn'],
  kept: ['Kept', 'warn'],
  not_merged: ['Not merged', 'warn'],
  repeated: ['Sent again', 'muted'],
  put_off: ['Put off', 'warn'],
};
