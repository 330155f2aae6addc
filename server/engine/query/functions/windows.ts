import { readFunctions } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

/** Functions that need OVER. */
export const windows: FunctionTopic = {
  title: 'Window functions',
  note:
    'They need `OVER (PARTITION BY ... ORDER BY ...)` with an ORDER BY; every aggregate works ' +
    'before OVER too. If ORDER BY leaves rows equal, Sluice gives them a fixed order, so a ' +
    'retry numbers them in the same way. `first_value(x) IGNORE NULLS OVER (...)` and ' +
    '`last_value` likewise leave NULL out; a frame changes nothing of `lag` and `lead`.',
  functions: readFunctions(`
    row_number() -> integer!   e.g. row_number() OVER (ORDER BY timestamp)
      Number of the row from 1
    rank() -> integer!   e.g. rank() OVER (ORDER BY timestamp)
      Number of the first equal row
    dense_rank() -> integer!   e.g. dense_rank() OVER (ORDER BY timestamp)
      Number of the group of equal rows
    percent_rank() -> float!   e.g. percent_rank() OVER (ORDER BY timestamp)
      \`rank\` as a share from 0 to 1
    ntile(#size) -> integer!   e.g. ntile(4) OVER (ORDER BY timestamp)
      Number of the part when the rows are cut into so many
    exact lag(T, #size?) -> T? | (T, #size, T) -> T   e.g. lag(event) OVER (ORDER BY timestamp)
      Value of an earlier row (default: one row earlier); otherwise the third argument, or NULL
    exact lead(T, #size?) -> T? | (T, #size, T) -> T
      e.g. lead(event, 1, 'none') OVER (ORDER BY timestamp)
      Value of a later row (default: one row later); otherwise the third argument, or NULL
    exact first_value(T) -> T   e.g. first_value(event) OVER (ORDER BY timestamp)
      Value of the first row of the frame
      engine: first_value_respect_nulls
    exact last_value(T) -> T   e.g. last_value(event) OVER (ORDER BY timestamp)
      Value of the last row of the frame
      engine: last_value_respect_nulls
    exact nth_value(T, #size) -> T?   e.g. nth_value(event, 2) OVER (ORDER BY timestamp)
      Value of a row of the frame, from 1; otherwise NULL
  `),
};
