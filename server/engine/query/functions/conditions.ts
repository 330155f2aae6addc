import { readFunctions } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

/** Choice, NULL and logic. */
export const conditions: FunctionTopic = {
  title: 'Conditions and NULL',
  note:
    'The operators `AND OR NOT = != < <= > >= IN LIKE ILIKE BETWEEN IS NULL` and `CASE` are ' +
    'part of the language and have no function.',
  functions: readFunctions(`
    exact if(condition, T, T) -> T   e.g. if(event = 'a', 1, 2)
      The second argument if the first is true, otherwise the third
    exact multiIf(condition, T, condition_or_T...) -> T   e.g. multiIf(1 = 2, 'a', 1 = 1, 'b', 'c')
      The value after the first true condition, otherwise the last argument
    exact coalesce(T, T...) -> T   e.g. coalesce(properties.a, 'none')
      The first that is not NULL
    exact ifNull(T, T) -> T   e.g. ifNull(properties.a, 'none')
      The second argument if the first is NULL
    exact nullIf(T, T) -> T?   e.g. nullIf(event, '')
      NULL where both are equal
    exact assumeNotNull(T) -> T!   e.g. assumeNotNull(properties.a)
      The value, or an empty value for NULL
    exact toNullable(T) -> T?   e.g. toNullable(event)
      The value as one that may be NULL
    isNull(any) -> boolean!   e.g. isNull(properties.a)
      True for NULL
    isNotNull(any) -> boolean!   e.g. isNotNull(properties.a)
      True for any value but NULL
    and(condition, condition...) -> boolean   e.g. and(true, false)
      \`a AND b\`
    or(condition, condition...) -> boolean   e.g. or(true, false)
      \`a OR b\`
    not(condition) -> boolean   e.g. not(true)
      \`NOT a\`
    xor(condition, condition) -> boolean   e.g. xor(true, false)
      Exactly one of both
  `),
};
