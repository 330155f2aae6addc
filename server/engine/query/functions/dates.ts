import { define } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

const moved_units = ['Seconds', 'Minutes', 'Hours', 'Days', 'Weeks', 'Months', 'Quarters', 'Years'];

const moves = (
  [
    ['add', 'later'],
    ['subtract', 'earlier'],
  ] as const
).flatMap(([verb, where]) =>
  moved_units.map((units) =>
    define(
      `${verb}${units}`,
      '(timestamp, integer) -> timestamp',
      `The given number of ${units.toLowerCase()} ${where}`,
      `${verb}${units}(timestamp, 1)`,
    ),
  ),
);

/** Time. */
export const dates: FunctionTopic = {
  title: 'Time',
  note:
    'Timestamps are instants with microseconds. Where a zone can be named, UTC is meant without ' +
    "it, or the zone that made the timestamp: `toDate(toStartOfDay(timestamp, 'Asia/Tokyo'))` is " +
    'a day in Tokyo. `timestamp + INTERVAL 1 DAY` and `-` work on timestamps and dates; ' +
    '`toIntervalDay(1)` is the same interval.',
  functions: [
    define(
      'now',
      '() -> timestamp',
      'The end of the data interval of the run, so that a retry gives the same rows',
      'now()',
      {
        engine: "{data_interval_end:DateTime64(6, 'UTC')}",
        exact: true,
      },
    ),
    define('today', '() -> date', 'The UTC day of `now()`', 'today()', {
      engine: "toDate32({data_interval_end:DateTime64(6, 'UTC')})",
      exact: true,
    }),
    define('yesterday', '() -> date', 'The day before `today()`', 'yesterday()', {
      engine: "minus(toDate32({data_interval_end:DateTime64(6, 'UTC')}), 1)",
    }),
    define(
      'toStartOfSecond',
      '(timestamp) -> timestamp',
      'Start of the second',
      'toStartOfSecond(timestamp)',
    ),
    define(
      'toStartOfMinute',
      '(timestamp) -> timestamp',
      'Start of the minute',
      'toStartOfMinute(timestamp)',
    ),
    define(
      'toStartOfFiveMinutes',
      '(timestamp) -> timestamp',
      'Start of the five minutes',
      'toStartOfFiveMinutes(timestamp)',
    ),
    define(
      'toStartOfTenMinutes',
      '(timestamp) -> timestamp',
      'Start of the ten minutes',
      'toStartOfTenMinutes(timestamp)',
    ),
    define(
      'toStartOfFifteenMinutes',
      '(timestamp) -> timestamp',
      'Start of the quarter of an hour',
      'toStartOfFifteenMinutes(timestamp)',
    ),
    define(
      'toStartOfHour',
      '(timestamp, #zone?) -> timestamp',
      'Start of the hour',
      "toStartOfHour(timestamp, 'Asia/Kolkata')",
    ),
    define(
      'toStartOfDay',
      '(timestamp, #zone?) -> timestamp',
      'Midnight before',
      "toStartOfDay(timestamp, 'Europe/Berlin')",
    ),
    define(
      'toStartOfWeek',
      '(instant, #integer?, #zone?) -> date',
      'First day of the week: Sunday, with mode 1 Monday',
      'toStartOfWeek(timestamp, 1)',
    ),
    define('toMonday', '(instant, #zone?) -> date', 'Monday of the week', 'toMonday(timestamp)'),
    define(
      'toStartOfMonth',
      '(instant, #zone?) -> date',
      'First day of the month',
      'toStartOfMonth(timestamp)',
    ),
    define(
      'toLastDayOfMonth',
      '(instant, #zone?) -> date',
      'Last day of the month',
      'toLastDayOfMonth(timestamp)',
    ),
    define(
      'toStartOfQuarter',
      '(instant, #zone?) -> date',
      'First day of the quarter',
      'toStartOfQuarter(timestamp)',
    ),
    define(
      'toStartOfYear',
      '(instant, #zone?) -> date',
      'First day of the year',
      'toStartOfYear(timestamp)',
    ),
    define(
      'toStartOfInterval',
      '(timestamp, #interval, #zone?) -> timestamp',
      'Start of the interval of this length',
      'toStartOfInterval(timestamp, INTERVAL 15 MINUTE)',
      {
        engine: 'toDateTime64(toStartOfInterval($1, $2, $3), 6, $3)',
      },
    ),
    define(
      'dateTrunc',
      '(#unit, timestamp, #zone?) -> timestamp',
      "Start of the 'second', 'minute', 'hour', 'day', 'week', 'month', 'quarter' or 'year'",
      "dateTrunc('month', timestamp, 'Europe/Berlin')",
      {
        engine: 'toDateTime64(toStartOfInterval($2, toInterval$1(1), $3), 6, $3)',
      },
    ),
    define(
      'date_trunc',
      '(#unit, timestamp, #zone?) -> timestamp',
      'The same as `dateTrunc`',
      "date_trunc('day', timestamp)",
      {
        engine: 'toDateTime64(toStartOfInterval($2, toInterval$1(1), $3), 6, $3)',
      },
    ),
    define('toYear', '(instant, #zone?) -> integer', 'Year', 'toYear(timestamp)'),
    define('toQuarter', '(instant, #zone?) -> integer', 'Quarter, 1 to 4', 'toQuarter(timestamp)'),
    define('toMonth', '(instant, #zone?) -> integer', 'Month, 1 to 12', 'toMonth(timestamp)'),
    define(
      'toWeek',
      '(instant, #integer?, #zone?) -> integer',
      'Week of the year; mode 3 is ISO 8601',
      'toWeek(timestamp, 3)',
    ),
    define('toISOWeek', '(instant, #zone?) -> integer', 'Week of ISO 8601', 'toISOWeek(timestamp)'),
    define(
      'toISOYear',
      '(instant, #zone?) -> integer',
      'Year of the ISO 8601 week',
      'toISOYear(timestamp)',
    ),
    define(
      'toDayOfYear',
      '(instant, #zone?) -> integer',
      'Day of the year from 1',
      'toDayOfYear(timestamp)',
    ),
    define(
      'toDayOfMonth',
      '(instant, #zone?) -> integer',
      'Day of the month from 1',
      'toDayOfMonth(timestamp)',
    ),
    define(
      'toDayOfWeek',
      '(instant, #integer?, #zone?) -> integer',
      'Monday is 1, Sunday 7; with mode 2, Sunday is first',
      'toDayOfWeek(timestamp)',
    ),
    define(
      'toHour',
      '(timestamp, #zone?) -> integer',
      'Hour',
      "toHour(timestamp, 'America/New_York')",
    ),
    define('toMinute', '(timestamp, #zone?) -> integer', 'Minute', 'toMinute(timestamp)'),
    define('toSecond', '(timestamp) -> integer', 'Second', 'toSecond(timestamp)'),
    define('toMillisecond', '(timestamp) -> integer', 'Millisecond', 'toMillisecond(timestamp)'),
    define(
      'toYYYYMM',
      '(instant, #zone?) -> integer',
      'Year and month as a number',
      'toYYYYMM(timestamp)',
    ),
    define(
      'toYYYYMMDD',
      '(instant, #zone?) -> integer',
      'Date as a number',
      'toYYYYMMDD(timestamp)',
    ),
    define(
      'dateDiff',
      '(#unit, instant, instant, #zone?) -> integer',
      'Number of unit boundaries between the two instants',
      "dateDiff('hour', timestamp, inserted_at)",
      {
        engine: "dateDiff('$1', $2, $3, $4)",
      },
    ),
    define(
      'age',
      '(#unit, instant, instant, #zone?) -> integer',
      'Number of whole units between the two instants',
      "age('day', timestamp, inserted_at)",
      {
        engine: "age('$1', $2, $3, $4)",
      },
    ),
    define(
      'dateAdd',
      '(#unit, integer, timestamp) -> timestamp',
      'The given number of units later',
      "dateAdd('day', 3, timestamp)",
      {
        engine: 'plus($3, toInterval$1($2))',
      },
    ),
    define(
      'dateSub',
      '(#unit, integer, timestamp) -> timestamp',
      'The given number of units earlier',
      "dateSub('day', 3, timestamp)",
      {
        engine: 'minus($3, toInterval$1($2))',
      },
    ),
    ...moves,
    define(
      'toTimeZone',
      '(timestamp, #zone) -> timestamp',
      'The same instant in another zone, for functions such as `toHour`, `toDate` and `toString`',
      "toHour(toTimeZone(timestamp, 'Europe/Berlin'))",
      { engine: '$1', exact: true },
    ),
    define(
      'formatDateTime',
      '(timestamp, #text, #zone?) -> text',
      'As text by a pattern: `%Y-%m-%d %H:%i:%S`',
      "formatDateTime(timestamp, '%d.%m.%Y', 'Europe/Berlin')",
    ),
    define(
      'monthName',
      '(instant, #zone?) -> text',
      'English name of the month',
      'monthName(timestamp)',
      { engine: "dateName('month', $1, $2)" },
    ),
  ],
};
