/**
 * Names of listed functions in other SQL dialects, in lower case; those of aggregates accept the
 * same suffixes.
 */
export const other_names: Record<string, string> = {
  any_value: 'any',
  btrim: 'trim',
  char_length: 'lengthUTF8',
  character_length: 'lengthUTF8',
  concat_ws: 'concatWithSeparator',
  countdistinct: 'uniqExact',
  date: 'toDate',
  date_diff: 'dateDiff',
  instr: 'position',
  laginframe: 'lag',
  lcase: 'lower',
  leadinframe: 'lead',
  ln: 'log',
  lpad: 'leftPad',
  ltrim: 'trimLeft',
  mid: 'substring',
  nvl: 'coalesce',
  power: 'pow',
  replace: 'replaceAll',
  rpad: 'rightPad',
  rtrim: 'trimRight',
  strpos: 'position',
  substr: 'substring',
  tofloatornull: 'toFloat',
  tofloatorzero: 'toFloat64OrZero',
  tointornull: 'toInt',
  tointorzero: 'toInt64OrZero',
  ucase: 'upper',
};
