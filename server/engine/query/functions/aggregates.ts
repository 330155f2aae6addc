import { define } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

const exact = { exact: true };

/** Aggregates. */
export const aggregates: FunctionTopic = {
  title: 'Aggregates',
  note:
    'With `If` at the end of the name (`countIf`, `sumIf`, ...) the last argument is a ' +
    'condition; `sum(x) FILTER (WHERE c)` says the same. `OrNull` gives NULL over no rows. ' +
    '`count(DISTINCT x)` and `sum(DISTINCT x)` take each value once. ' +
    'An aggregate whose result would depend on the order of the rows (`anyLast`, ' +
    '`topK`, approximate quantiles) is not part of the language.',
  functions: [
    define('count', '(any?) -> integer!', 'Rows, or values that are not NULL', 'count()'),
    define(
      'sum',
      '(N) -> N | (decimal) -> decimal',
      'Sum; the last digits of a sum of floats may differ between attempts',
      'sum(length(event))',
      exact,
    ),
    define('avg', '(number) -> float', 'Mean', 'avg(length(event))'),
    define('min', '(T) -> T', 'Smallest; properties are compared as text', 'min(timestamp)', exact),
    define('max', '(T) -> T', 'Largest; properties are compared as text', 'max(timestamp)', exact),
    define(
      'any',
      '(T) -> T',
      'One of the values: the smallest, so that it is fixed; NULL only where all are',
      'any(event)',
      { engine: 'min', exact: true },
    ),
    define(
      'argMin',
      '(T, U) -> T',
      'The first where the second is smallest; of several the smallest',
      'argMin(event, timestamp)',
      exact,
    ),
    define(
      'argMax',
      '(T, U) -> T',
      'The first where the second is largest; of several the largest',
      'argMax(event, timestamp)',
      exact,
    ),
    define(
      'uniq',
      '(any, any...) -> integer!',
      'About how many different values',
      'uniq(distinct_id)',
    ),
    define(
      'uniqExact',
      '(any, any...) -> integer!',
      'How many different values',
      'uniqExact(distinct_id)',
    ),
    define(
      'uniqCombined',
      '(any, any...) -> integer!',
      'About how many different values, with little memory',
      'uniqCombined(distinct_id)',
    ),
    define(
      'quantile',
      '#level(number) -> float',
      'Quantile, exact, between neighbours by their distance',
      'quantile(0.9)(length(event))',
      {
        engine: 'quantileExactInclusive',
      },
    ),
    define(
      'quantileExact',
      '#level(number) -> float',
      'Quantile that is one of the values',
      'quantileExact(0.9)(length(event))',
    ),
    define('median', '(number) -> float', 'The same as `quantile(0.5)`', 'median(length(event))', {
      engine: 'quantileExactInclusive',
    }),
    define(
      'quantiles',
      '#level...(number) -> [float]',
      'Several quantiles',
      'quantiles(0.5, 0.9)(length(event))',
      {
        engine: 'quantilesExactInclusive',
        exact: true,
      },
    ),
    define(
      'groupArray',
      '(T) -> [T]',
      'All values that are not NULL, sorted, so that their order is fixed',
      'groupArray(event)',
      exact,
    ),
    define(
      'groupUniqArray',
      '(T) -> [T]',
      'The different values that are not NULL, sorted',
      'groupUniqArray(event)',
      exact,
    ),
    define('groupBitAnd', '(integer) -> integer', 'Bits of all', 'groupBitAnd(team_id)', exact),
    define('groupBitOr', '(integer) -> integer', 'Bits of any', 'groupBitOr(team_id)', exact),
    define(
      'groupBitXor',
      '(integer) -> integer',
      'Bits of an odd number',
      'groupBitXor(team_id)',
      exact,
    ),
    define(
      'stddevPop',
      '(number) -> float',
      'Standard deviation of all',
      'stddevPop(length(event))',
    ),
    define(
      'stddevSamp',
      '(number) -> float',
      'Standard deviation of a sample',
      'stddevSamp(length(event))',
    ),
    define('varPop', '(number) -> float', 'Variance of all', 'varPop(length(event))'),
    define('varSamp', '(number) -> float', 'Variance of a sample', 'varSamp(length(event))'),
    define(
      'corr',
      '(number, number) -> float',
      'Correlation',
      'corr(length(event), length(distinct_id))',
    ),
    define(
      'covarPop',
      '(number, number) -> float',
      'Covariance of all',
      'covarPop(length(event), length(distinct_id))',
    ),
    define(
      'covarSamp',
      '(number, number) -> float',
      'Covariance of a sample',
      'covarSamp(length(event), length(distinct_id))',
    ),
  ],
};
