import { datedText, instantIn } from '../values/dated_text.ts';
import { define } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

const exact = { exact: true };

/** Conversions between types. */
export const conversions: FunctionTopic = {
  title: 'Conversions',
  note:
    'Over text, the plain functions fail the run at the first value that does not fit; those ' +
    'with `OrNull`, `OrZero` and `OrDefault` do not. Over a property, the plain ones give NULL ' +
    'instead (`toInt64` also for a fraction). A text without a year is not a timestamp. `CAST(x ' +
    'AS T)` and `x::T` do the same.',
  functions: [
    define(
      'toString',
      '(any) -> text',
      'As text; arrays, tuples and maps as JSON',
      'toString(timestamp)',
      { engine: 'cast text' },
    ),
    define(
      'toInt64',
      '(any) -> integer',
      'As a whole number; fractions are cut off',
      "toInt64('5')",
      { engine: 'cast integer' },
    ),
    define(
      'toInt',
      '(any) -> integer?',
      '`toInt64`, but NULL where a text is no whole number',
      "toInt('x')",
      { engine: 'cast integer or null' },
    ),
    define(
      'toInt64OrNull',
      '(text) -> integer?',
      'NULL where the text is no whole number',
      "toInt64OrNull('x')",
      exact,
    ),
    define(
      'toInt64OrZero',
      '(text) -> integer',
      '0 where the text is no whole number',
      "toInt64OrZero('x')",
      exact,
    ),
    define(
      'toUInt64',
      '(any) -> unsigned',
      'As a whole number without sign; exported as text, because no destination holds it',
      "toUInt64('18446744073709551615')",
      {
        engine: 'cast unsigned',
      },
    ),
    define('toFloat64', '(any) -> float', 'As a float', "toFloat64('1.5')", {
      engine: 'cast float',
    }),
    define(
      'toFloat',
      '(any) -> float?',
      '`toFloat64`, but NULL where a text is no number',
      "toFloat('x')",
      { engine: 'cast float or null' },
    ),
    define(
      'toFloat64OrNull',
      '(text) -> float?',
      'NULL where the text is no number',
      "toFloat64OrNull('x')",
      exact,
    ),
    define(
      'toFloat64OrZero',
      '(text) -> float',
      '0 where the text is no number',
      "toFloat64OrZero('x')",
      exact,
    ),
    define(
      'toDecimal',
      '(any) -> decimal',
      'As an exact number of 38 digits, nine of them after the point; further ones are cut off',
      "toDecimal('12.30')",
      { engine: 'cast decimal' },
    ),
    define(
      'toDecimalOrNull',
      '(any) -> decimal?',
      '`toDecimal`, but NULL where a text is no number',
      "toDecimalOrNull('x')",
      { engine: 'cast decimal or null' },
    ),
    define(
      'toBool',
      '(any) -> boolean',
      'As a boolean; the texts `true` and `false`, numbers other than 0',
      "toBool('true')",
      { engine: 'cast boolean' },
    ),
    define(
      'toUUID',
      '(any) -> uuid',
      'As a uuid',
      "toUUID('01890000-0000-7000-8000-000000000000')",
      { engine: 'cast uuid' },
    ),
    define(
      'toUUIDOrNull',
      '(text) -> uuid?',
      'NULL where the text is no uuid',
      "toUUIDOrNull('x')",
      exact,
    ),
    define(
      'toUUIDOrZero',
      '(text) -> uuid',
      'A uuid; the zero uuid for other text',
      "toUUIDOrZero('x')",
      exact,
    ),
    define(
      'toDate',
      '(any, #zone?) -> date',
      'The day of a timestamp, or a date from text',
      "toDate(timestamp, 'Europe/Berlin')",
      { engine: 'cast date' },
    ),
    define(
      'toDateOrNull',
      '(any, #zone?) -> date?',
      '`toDate`, but NULL where a text is no date',
      "toDateOrNull('x')",
      { engine: 'cast date or null' },
    ),
    define(
      'toDateTime',
      '(any, #zone?) -> timestamp',
      'A timestamp from text in any usual form (in the given zone if the text has none), from ' +
        'a date, or from seconds since 1970',
      "toDateTime('2024-01-02 03:04:05', 'Europe/Berlin')",
      { engine: 'cast timestamp' },
    ),
    define(
      'toDateTimeOrNull',
      '(any, #zone?) -> timestamp?',
      '`toDateTime`, but NULL where a text is no timestamp',
      "toDateTimeOrNull('x')",
      { engine: 'cast timestamp or null' },
    ),
    define(
      'toDateTime64',
      '(any, #integer?, #zone?) -> timestamp',
      'The same as `toDateTime`; timestamps always have microseconds',
      "toDateTime64('2024-01-02 03:04:05.678')",
      { engine: 'cast timestamp' },
    ),
    define(
      'parseDateTimeBestEffort',
      '(text, #zone?) -> timestamp',
      'A timestamp from text in any usual form; of a text without a zone in the one named',
      "parseDateTimeBestEffort('2 Jan 2024 03:04')",
      { engine: instantIn('$1', '$2') },
    ),
    define(
      'parseDateTimeBestEffortOrNull',
      '(text, #zone?) -> timestamp?',
      'NULL where the text is no timestamp',
      "parseDateTimeBestEffortOrNull('x')",
      {
        engine: `parseDateTime64BestEffortOrNull(${datedText('$1')}, 6, $2)`,
      },
    ),
    define(
      'parseDateTimeBestEffortOrZero',
      '(text, #zone?) -> timestamp',
      '1970 where the text is no timestamp',
      "parseDateTimeBestEffortOrZero('x')",
      {
        engine: `parseDateTime64BestEffortOrZero(${datedText('$1')}, 6, $2)`,
      },
    ),
    define(
      'fromUnixTimestamp',
      '(integer) -> timestamp',
      'From seconds since 1970',
      'fromUnixTimestamp(1700000000)',
      {
        engine: "toDateTime64($1, 6, 'UTC')",
        exact: true,
      },
    ),
    define(
      'fromUnixTimestamp64Milli',
      '(integer) -> timestamp',
      'From milliseconds since 1970',
      'fromUnixTimestamp64Milli(1700000000123)',
      {
        engine: "fromUnixTimestamp64Milli($1, 'UTC')",
      },
    ),
    define(
      'toUnixTimestamp',
      '(timestamp) -> integer',
      'Seconds since 1970',
      'toUnixTimestamp(timestamp)',
      { engine: 'toUnixTimestamp64Second($1)' },
    ),
    define(
      'toUnixTimestamp64Milli',
      '(timestamp) -> integer',
      'Milliseconds since 1970',
      'toUnixTimestamp64Milli(timestamp)',
    ),
    define(
      'toUnixTimestamp64Micro',
      '(timestamp) -> integer',
      'Microseconds since 1970',
      'toUnixTimestamp64Micro(timestamp)',
    ),
    define('toJSONString', '(any) -> json', 'As JSON text', "toJSONString(map('a', 1))"),
  ],
};
