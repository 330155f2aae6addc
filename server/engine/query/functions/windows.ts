import { define } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

const exact = { exact: true };

/** Functions that need OVER. */
export const windows: FunctionTopic = {
  title: 'Window functions',
  note:
    'They need `OVER (PARTITION BY ... ORDER BY ...)` with an ORDER BY; every aggregate works ' +
    'before OVER too. If ORDER BY leaves rows equal, Sluice gives them a fixed order, so a ' +
    'retry numbers them in the same way. `first_value(x) IGNORE NULLS OVER (...)` and ' +
    '`last_value` likewise leave NULL out; a frame changes nothing of `lag` and `lead`.',
  functions: [
    define(
      'row_number',
      '() -> integer!',
      'Number of the row from 1',
      'row_number() OVER (ORDER BY timestamp)',
    ),
    define(
      'rank',
      '() -> integer!',
      'Number of the first equal row',
      'rank() OVER (ORDER BY timestamp)',
    ),
    define(
      'dense_rank',
      '() -> integer!',
      'Number of the group of equal rows',
      'dense_rank() OVER (ORDER BY timestamp)',
    ),
    define(
      'percent_rank',
      '() -> float!',
      '`rank` as a share from 0 to 1',
      'percent_rank() OVER (ORDER BY timestamp)',
    ),
    define(
      'ntile',
      '(#size) -> integer!',
      'Number of the part when the rows are cut into so many',
      'ntile(4) OVER (ORDER BY timestamp)',
    ),
    define(
      'lag',
      '(T, #size?) -> T? | (T, #size, T) -> T',
      'Value of an earlier row (default: one row earlier); otherwise the third argument, or NULL',
      'lag(event) OVER (ORDER BY timestamp)',
      exact,
    ),
    define(
      'lead',
      '(T, #size?) -> T? | (T, #size, T) -> T',
      'Value of a later row (default: one row later); otherwise the third argument, or NULL',
      "lead(event, 1, 'none') OVER (ORDER BY timestamp)",
      exact,
    ),
    define(
      'first_value',
      '(T) -> T',
      'Value of the first row of the frame',
      'first_value(event) OVER (ORDER BY timestamp)',
      {
        engine: 'first_value_respect_nulls',
        exact: true,
      },
    ),
    define(
      'last_value',
      '(T) -> T',
      'Value of the last row of the frame',
      'last_value(event) OVER (ORDER BY timestamp)',
      {
        engine: 'last_value_respect_nulls',
        exact: true,
      },
    ),
    define(
      'nth_value',
      '(T, #size) -> T?',
      'Value of a row of the frame, from 1; otherwise NULL',
      'nth_value(event, 2) OVER (ORDER BY timestamp)',
      exact,
    ),
  ],
};
