import type { IngestionWarningRow } from '../../server/api/ingestion_warnings/schema.ts';

/** Each reason in words. */
export const reason_words: Record<IngestionWarningRow['reason'], string> = {
  clock_skew_mended: 'The clock of the sender was wrong; the time was shifted.',
  distinct_id_cut: 'The distinct id was too long and was cut.',
  distinct_id_made: 'It named nobody and got a distinct id of its own.',
  distinct_id_missing: 'It names nobody.',
  distinct_id_not_text: 'The distinct id was an object or a list and names nobody.',
  duplicate: 'It was stored before: it was sent again.',
  erased_person_left_out: 'Its person was erased: it was stored without them.',
  erased_person_refused: 'Its person was erased.',
  event_invalid: 'Something is wrong with a field.',
  event_name_cut: 'The name was too long and was cut.',
  event_name_missing: 'It has no name.',
  event_refused: 'It is nested too deeply.',
  event_too_large: 'It is too large.',
  feature_off: 'It is of something that is switched off here, and nothing of it is kept.',
  internal_dropped: 'It came from an internal address.',
  invalid_number_replaced: 'A number was NaN or Infinity and became null.',
  invalid_utf8_replaced: 'Bytes that are no text in UTF-8 were replaced.',
  merge_of_identified: 'The other person is identified already: they are not made one.',
  merge_of_illegal_id: 'One of the distinct ids names nobody.',
  merge_of_too_many_ids: 'The other person has too many distinct ids.',
  merged_properties_too_large: 'Merged, but properties of the other person were left behind.',
  null_characters_replaced: 'Null characters were replaced.',
  person_too_large: 'The person would have become too large and was left as it was.',
  properties_ignored: 'The properties are no object and were left out.',
  request_put_off: 'The whole request was told to come again.',
  request_refused: 'The whole request could not be read or was too large.',
  robot_dropped: 'A robot sent it.',
  set_ignored: 'What was to be set of the person is no object.',
  timestamp_clamped: 'The time lies in the future; it became now.',
  timestamp_ignored: 'The time could not be read; it became now.',
  timestamp_of_1970: 'The time lies in 1970, as of a clock that was never set.',
  uuid_replaced: 'The uuid is none and was replaced.',
};

/** Outcomes of an event, in a word and a colour. */
export const outcome_words: Record<IngestionWarningRow['outcome'], [word: string, look: string]> = {
  refused: ['Refused', 'bad'],
  changed: ['Changed', 'warn'],
  kept: ['Kept', 'warn'],
  not_merged: ['Not merged', 'warn'],
  repeated: ['Sent again', 'muted'],
  put_off: ['Put off', 'warn'],
};
