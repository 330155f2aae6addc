import { readFunctions } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

const units = ['Seconds', 'Minutes', 'Hours', 'Days', 'Weeks', 'Months', 'Quarters', 'Years'];

const moves = ['add later', 'subtract earlier'].flatMap((verb_and_where) => {
  const [verb, where] = verb_and_where.split(' ');
  return units.map((unit) => {
    const name = `${verb}${unit}`;
    return `${name}(timestamp, integer) -> timestamp   e.g. ${name}(timestamp, 1)
      The given number of ${unit.toLowerCase()} ${where}`;
  });
});

/** Time. */
export const dates: FunctionTopic = {
  title: 'Time',
  note:
    'Timestamps are instants with microseconds. Where a zone can be named, UTC is meant without ' +
    "it, or the zone that made the timestamp: `toDate(toStartOfDay(timestamp, 'Asia/Tokyo'))` is " +
    'a day in Tokyo. `timestamp + INTERVAL 1 DAY` and `-` work on timestamps and dates; ' +
    '`toIntervalDay(1)` is the same interval.',
  functions: readFunctions(`
    exact now() -> timestamp   e.g. now()
      The end of the data interval of the run, so that a retry gives the same rows
      engine: {data_interval_end:DateTime64(6, 'UTC')}
    exact today() -> date   e.g. today()
      The UTC day of \`now()\`
      engine: toDate32({data_interval_end:DateTime64(6, 'UTC')})
    yesterday() -> date   e.g. yesterday()
      The day before \`today()\`
      engine: minus(toDate32({data_interval_end:DateTime64(6, 'UTC')}), 1)
    toStartOfSecond(timestamp) -> timestamp   e.g. toStartOfSecond(timestamp)
      Start of the second
    toStartOfMinute(timestamp) -> timestamp   e.g. toStartOfMinute(timestamp)
      Start of the minute
    toStartOfFiveMinutes(timestamp) -> timestamp   e.g. toStartOfFiveMinutes(timestamp)
      Start of the five minutes
    toStartOfTenMinutes(timestamp) -> timestamp   e.g. toStartOfTenMinutes(timestamp)
      Start of the ten minutes
    toStartOfFifteenMinutes(timestamp) -> timestamp   e.g. toStartOfFifteenMinutes(timestamp)
      Start of the quarter of an hour
    toStartOfHour(timestamp, #zone?) -> timestamp   e.g. toStartOfHour(timestamp, 'Asia/Kolkata')
      Start of the hour
    toStartOfDay(timestamp, #zone?) -> timestamp   e.g. toStartOfDay(timestamp, 'Europe/Berlin')
      Midnight before
    toStartOfWeek(instant, #integer?, #zone?) -> date   e.g. toStartOfWeek(timestamp, 1)
      First day of the week: Sunday, with mode 1 Monday
    toMonday(instant, #zone?) -> date   e.g. toMonday(timestamp)
      Monday of the week
    toStartOfMonth(instant, #zone?) -> date   e.g. toStartOfMonth(timestamp)
      First day of the month
    toLastDayOfMonth(instant, #zone?) -> date   e.g. toLastDayOfMonth(timestamp)
      Last day of the month
    toStartOfQuarter(instant, #zone?) -> date   e.g. toStartOfQuarter(timestamp)
      First day of the quarter
    toStartOfYear(instant, #zone?) -> date   e.g. toStartOfYear(timestamp)
      First day of the year
    toStartOfInterval(timestamp, #interval, #zone?) -> timestamp
      e.g. toStartOfInterval(timestamp, INTERVAL 15 MINUTE)
      Start of the interval of this length
      engine: toDateTime64(toStartOfInterval($1, $2, $3), 6, $3)
    dateTrunc(#unit, timestamp, #zone?) -> timestamp
      e.g. dateTrunc('month', timestamp, 'Europe/Berlin')
      Start of the 'second', 'minute', 'hour', 'day', 'week', 'month', 'quarter' or 'year'
      engine: toDateTime64(toStartOfInterval($2, toInterval$1(1), $3), 6, $3)
    date_trunc(#unit, timestamp, #zone?) -> timestamp   e.g. date_trunc('day', timestamp)
      The same as \`dateTrunc\`
      engine: toDateTime64(toStartOfInterval($2, toInterval$1(1), $3), 6, $3)
    toYear(instant, #zone?) -> integer   e.g. toYear(timestamp)
      Year
    toQuarter(instant, #zone?) -> integer   e.g. toQuarter(timestamp)
      Quarter, 1 to 4
    toMonth(instant, #zone?) -> integer   e.g. toMonth(timestamp)
      Month, 1 to 12
    toWeek(instant, #integer?, #zone?) -> integer   e.g. toWeek(timestamp, 3)
      Week of the year; mode 3 is ISO 8601
    toISOWeek(instant, #zone?) -> integer   e.g. toISOWeek(timestamp)
      Week of ISO 8601
    toISOYear(instant, #zone?) -> integer   e.g. toISOYear(timestamp)
      Year of the ISO 8601 week
    toDayOfYear(instant, #zone?) -> integer   e.g. toDayOfYear(timestamp)
      Day of the year from 1
    toDayOfMonth(instant, #zone?) -> integer   e.g. toDayOfMonth(timestamp)
      Day of the month from 1
    toDayOfWeek(instant, #integer?, #zone?) -> integer   e.g. toDayOfWeek(timestamp)
      Monday is 1, Sunday 7; with mode 2, Sunday is first
    toHour(timestamp, #zone?) -> integer   e.g. toHour(timestamp, 'America/New_York')
      Hour
    toMinute(timestamp, #zone?) -> integer   e.g. toMinute(timestamp)
      Minute
    toSecond(timestamp) -> integer   e.g. toSecond(timestamp)
      Second
    toMillisecond(timestamp) -> integer   e.g. toMillisecond(timestamp)
      Millisecond
    toYYYYMM(instant, #zone?) -> integer   e.g. toYYYYMM(timestamp)
      Year and month as a number
    toYYYYMMDD(instant, #zone?) -> integer   e.g. toYYYYMMDD(timestamp)
      Date as a number
    dateDiff(#unit, instant, instant, #zone?) -> integer
      e.g. dateDiff('hour', timestamp, inserted_at)
      Number of unit boundaries between the two instants
      engine: dateDiff('$1', $2, $3, $4)
    age(#unit, instant, instant, #zone?) -> integer   e.g. age('day', timestamp, inserted_at)
      Number of whole units between the two instants
      engine: age('$1', $2, $3, $4)
    dateAdd(#unit, integer, timestamp) -> timestamp   e.g. dateAdd('day', 3, timestamp)
      The given number of units later
      engine: plus($3, toInterval$1($2))
    dateSub(#unit, integer, timestamp) -> timestamp   e.g. dateSub('day', 3, timestamp)
      The given number of units earlier
      engine: minus($3, toInterval$1($2))
    ${moves.join('\n    ')}
    exact toTimeZone(timestamp, #zone) -> timestamp
      e.g. toHour(toTimeZone(timestamp, 'Europe/Berlin'))
      The same instant in another zone, for functions such as \`toHour\`, \`toDate\`
      and \`toString\`
      engine: $1
    formatDateTime(timestamp, #text, #zone?) -> text
      e.g. formatDateTime(timestamp, '%d.%m.%Y', 'Europe/Berlin')
      As text by a pattern: \`%Y-%m-%d %H:%i:%S\`
    monthName(instant, #zone?) -> text   e.g. monthName(timestamp)
      English name of the month
      engine: dateName('month', $1, $2)
  `),
};
