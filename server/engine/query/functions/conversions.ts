import { datedText, instantIn } from '../values/dated_text.ts';
import { readFunctions } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

/** Conversions between types. */
export const conversions: FunctionTopic = {
  title: 'Conversions',
  note:
    'Over text, the plain functions fail the run at the first value that does not fit; those ' +
    'with `OrNull`, `OrZero` and `OrDefault` do not. Over a property, the plain ones give NULL ' +
    'instead (`toInt64` also for a fraction). A text without a year is not a timestamp. `CAST(x ' +
    'AS T)` and `x::T` do the same.',
  functions: readFunctions(`
    toString(any) -> text   e.g. toString(timestamp)
      As text; arrays, tuples and maps as JSON
      engine: cast text
    toInt64(any) -> integer   e.g. toInt64('5')
      As a whole number; fractions are cut off
      engine: cast integer
    toInt(any) -> integer?   e.g. toInt('x')
      \`toInt64\`, but NULL where a text is no whole number
      engine: cast integer or null
    exact toInt64OrNull(text) -> integer?   e.g. toInt64OrNull('x')
      NULL where the text is no whole number
    exact toInt64OrZero(text) -> integer   e.g. toInt64OrZero('x')
      0 where the text is no whole number
    toUInt64(any) -> unsigned   e.g. toUInt64('18446744073709551615')
      As a whole number without sign; exported as text, because no destination holds it
      engine: cast unsigned
    toFloat64(any) -> float   e.g. toFloat64('1.5')
      As a float
      engine: cast float
    toFloat(any) -> float?   e.g. toFloat('x')
      \`toFloat64\`, but NULL where a text is no number
      engine: cast float or null
    exact toFloat64OrNull(text) -> float?   e.g. toFloat64OrNull('x')
      NULL where the text is no number
    exact toFloat64OrZero(text) -> float   e.g. toFloat64OrZero('x')
      0 where the text is no number
    toDecimal(any) -> decimal   e.g. toDecimal('12.30')
      As an exact number of 38 digits, nine of them after the point; further ones are cut off
      engine: cast decimal
    toDecimalOrNull(any) -> decimal?   e.g. toDecimalOrNull('x')
      \`toDecimal\`, but NULL where a text is no number
      engine: cast decimal or null
    toBool(any) -> boolean   e.g. toBool('true')
      As a boolean; the texts \`true\` and \`false\`, numbers other than 0
      engine: cast boolean
    toUUID(any) -> uuid   e.g. toUUID('01890000-0000-7000-8000-000000000000')
      As a uuid
      engine: cast uuid
    exact toUUIDOrNull(text) -> uuid?   e.g. toUUIDOrNull('x')
      NULL where the text is no uuid
    exact toUUIDOrZero(text) -> uuid   e.g. toUUIDOrZero('x')
      A uuid; the zero uuid for other text
    toDate(any, #zone?) -> date   e.g. toDate(timestamp, 'Europe/Berlin')
      The day of a timestamp, or a date from text
      engine: cast date
    toDateOrNull(any, #zone?) -> date?   e.g. toDateOrNull('x')
      \`toDate\`, but NULL where a text is no date
      engine: cast date or null
    toDateTime(any, #zone?) -> timestamp   e.g. toDateTime('2024-01-02 03:04:05', 'Europe/Berlin')
      A timestamp from text in any usual form (in the given zone if the text has none), from a date,
      or from seconds since 1970
      engine: cast timestamp
    toDateTimeOrNull(any, #zone?) -> timestamp?   e.g. toDateTimeOrNull('x')
      \`toDateTime\`, but NULL where a text is no timestamp
      engine: cast timestamp or null
    toDateTime64(any, #integer?, #zone?) -> timestamp   e.g. toDateTime64('2024-01-02 03:04:05.678')
      The same as \`toDateTime\`; timestamps always have microseconds
      engine: cast timestamp
    parseDateTimeBestEffort(text, #zone?) -> timestamp
      e.g. parseDateTimeBestEffort('2 Jan 2024 03:04')
      A timestamp from text in any usual form; of a text without a zone in the one named
      engine: ${instantIn('$1', '$2')}
    parseDateTimeBestEffortOrNull(text, #zone?) -> timestamp?
      e.g. parseDateTimeBestEffortOrNull('x')
      NULL where the text is no timestamp
      engine: parseDateTime64BestEffortOrNull(${datedText('$1')}, 6, $2)
    parseDateTimeBestEffortOrZero(text, #zone?) -> timestamp
      e.g. parseDateTimeBestEffortOrZero('x')
      1970 where the text is no timestamp
      engine: parseDateTime64BestEffortOrZero(${datedText('$1')}, 6, $2)
    exact fromUnixTimestamp(integer) -> timestamp   e.g. fromUnixTimestamp(1700000000)
      From seconds since 1970
      engine: toDateTime64($1, 6, 'UTC')
    fromUnixTimestamp64Milli(integer) -> timestamp   e.g. fromUnixTimestamp64Milli(1700000000123)
      From milliseconds since 1970
      engine: fromUnixTimestamp64Milli($1, 'UTC')
    toUnixTimestamp(timestamp) -> integer   e.g. toUnixTimestamp(timestamp)
      Seconds since 1970
      engine: toUnixTimestamp64Second($1)
    toUnixTimestamp64Milli(timestamp) -> integer   e.g. toUnixTimestamp64Milli(timestamp)
      Milliseconds since 1970
    toUnixTimestamp64Micro(timestamp) -> integer   e.g. toUnixTimestamp64Micro(timestamp)
      Microseconds since 1970
    toJSONString(any) -> json   e.g. toJSONString(map('a', 1))
      As JSON text
  `),
};
