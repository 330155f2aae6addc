import { Fault } from '../fault.ts';
import { functionNames } from '../functions/find.ts';
import { suggest } from './suggest.ts';
import type { ExpressionOf } from '../parse/tree.ts';

const decimals = 'There are no decimals: write round(toFloat64(x), 2), or keep the text.';
const instants = 'Write parseDateTimeBestEffort, or parseDateTimeBestEffortOrNull.';

// What people look for under another name, in small letters, or what is left out on purpose.
const instead: Record<string, string> = {
  any: 'Which value `any` takes is not fixed: write min, max or argMax.',
  anylast: 'Which value `anyLast` takes is not fixed: write argMax(x, timestamp).',
  topk: 'What `topK` finds is not fixed: count in a subquery and take ORDER BY ... LIMIT.',
  rand: 'Random values would differ at each attempt: take cityHash64(uuid) instead.',
  generateuuidv4: 'Random values would differ at each attempt: take uuid instead.',
  now64: 'Write now(): the end of the data interval of the run.',
  current_timestamp: 'Write now(): the end of the data interval of the run.',
  current_date: 'Write today(): the day of the end of the data interval of the run.',
  repeat: '`repeat` is not part of the language: use leftPad or rightPad.',
  windowfunnel:
    'Write the steps of a funnel with minIf: the first time of each step for each person, and ' +
    'compare them.',
  totimezone:
    'Timestamps have no zone of their own: write formatDateTime with a zone, or name the zone ' +
    'in toStartOfDay, toHour and the like.',
  extract: 'Write toYear(x), toMonth(x) and the like; extract(text, pattern) is for text.',
  incohort: 'Cohorts are not here: compare the properties of the person.',
  laginframe: 'Write lag: it needs no frame.',
  leadinframe: 'Write lead: it needs no frame.',
  transform: 'Write CASE x WHEN a THEN b ... ELSE c END.',
  multisearchany: 'Write match(x, pattern), or x LIKE a OR x LIKE b.',
  visitparamextractstring: 'Write JSONExtractString.',
  jsonextract: 'Write JSONExtractString, JSONExtractInt or another one with the type in its name.',
  date: 'Write toDate.',
  tofloat: 'Write toFloat64.',
  toint: 'Write toInt64.',
  todecimal: decimals,
  todecimal32: decimals,
  todecimal64: decimals,
  todecimal128: decimals,
  parsedatetime: instants,
  todatetimeornull: instants,
  todateornull: 'Write toDate(parseDateTimeBestEffortOrNull(x)).',
  to_char: 'Write formatDateTime.',
  substr: 'Write substring.',
  mid: 'Write substring.',
  lcase: 'Write lower.',
  ucase: 'Write upper.',
  char_length: 'Write lengthUTF8.',
  character_length: 'Write lengthUTF8.',
  concat_ws: 'Write concatWithSeparator.',
  lpad: 'Write leftPad.',
  rpad: 'Write rightPad.',
  ltrim: 'Write trimLeft.',
  rtrim: 'Write trimRight.',
  locate: 'Write position(text, part).',
  strpos: 'Write position.',
  instr: 'Write position.',
  split_part: 'Write splitByChar(separator, text)[n].',
  regexp_replace: 'Write replaceRegexpAll.',
  nvl: 'Write coalesce.',
};

/** What else is known of a name by how it is made. */
function patterned(name: string): string | undefined {
  const unit = /^toInterval([A-Z][a-z]+)$/.exec(name)?.[1];
  if (unit !== undefined) return `Write INTERVAL n ${unit.toUpperCase()}.`;
  const [, base] = /^(\w+)OrNullIf$/.exec(name) ?? [];
  return base === undefined ? undefined : `Write ${base}IfOrNull.`;
}

/** The fault for a function that is not on the list. */
export function unknownFunction(node: ExpressionOf<'call'>): Fault {
  const name = node.name.text;
  const key = name.toLowerCase();
  const advice = Object.hasOwn(instead, key) ? instead[key] : patterned(name);
  return new Fault(
    advice ?? `There is no function \`${name}\` in the language.`,
    node.name,
    advice === undefined ? suggest(name, functionNames()) : undefined,
  );
}
