import { define } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

const exact = { exact: true };

/** Choice, NULL and logic. */
export const conditions: FunctionTopic = {
  title: 'Conditions and NULL',
  note:
    'The operators `AND OR NOT = != < <= > >= IN LIKE ILIKE BETWEEN IS NULL` and `CASE` are ' +
    'part of the language and have no function.',
  functions: [
    define(
      'if',
      '(condition, T, T) -> T',
      'The second argument if the first is true, otherwise the third',
      "if(event = 'a', 1, 2)",
      exact,
    ),
    define(
      'multiIf',
      '(condition, T, condition_or_T...) -> T',
      'The value after the first true condition, otherwise the last argument',
      "multiIf(1 = 2, 'a', 1 = 1, 'b', 'c')",
      exact,
    ),
    define(
      'coalesce',
      '(T, T...) -> T',
      'The first that is not NULL',
      "coalesce(properties.a, 'none')",
      exact,
    ),
    define(
      'ifNull',
      '(T, T) -> T',
      'The second argument if the first is NULL',
      "ifNull(properties.a, 'none')",
      exact,
    ),
    define('nullIf', '(T, T) -> T?', 'NULL where both are equal', "nullIf(event, '')", exact),
    define(
      'assumeNotNull',
      '(T) -> T!',
      'The value, or an empty value for NULL',
      'assumeNotNull(properties.a)',
      exact,
    ),
    define(
      'toNullable',
      '(T) -> T?',
      'The value as one that may be NULL',
      'toNullable(event)',
      exact,
    ),
    define('isNull', '(any) -> boolean!', 'True for NULL', 'isNull(properties.a)'),
    define(
      'isNotNull',
      '(any) -> boolean!',
      'True for any value but NULL',
      'isNotNull(properties.a)',
    ),
    define('and', '(condition, condition...) -> boolean', '`a AND b`', 'and(true, false)'),
    define('or', '(condition, condition...) -> boolean', '`a OR b`', 'or(true, false)'),
    define('not', '(condition) -> boolean', '`NOT a`', 'not(true)'),
    define('xor', '(condition, condition) -> boolean', 'Exactly one of both', 'xor(true, false)'),
  ],
};
