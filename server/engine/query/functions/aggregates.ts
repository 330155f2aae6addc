import { readFunctions } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

/** Aggregates. */
export const aggregates: FunctionTopic = {
  title: 'Aggregates',
  note:
    'With `If` at the end of the name (`countIf`, `sumIf`, ...) the last argument is a ' +
    'condition; `sum(x) FILTER (WHERE c)` says the same. `OrNull` gives NULL over no rows. ' +
    '`count(DISTINCT x)` and `sum(DISTINCT x)` take each value once. ' +
    'An aggregate whose result would depend on the order of the rows (`anyLast`, ' +
    '`topK`, approximate quantiles) is not part of the language.',
  functions: readFunctions(`
    count(any?) -> integer!   e.g. count()
      Rows, or values that are not NULL
    exact sum(N) -> N | (decimal) -> decimal   e.g. sum(length(event))
      Sum; the last digits of a sum of floats may differ between attempts
    avg(number) -> float   e.g. avg(length(event))
      Mean
    exact min(T) -> T   e.g. min(timestamp)
      Smallest; properties are compared as text
    exact max(T) -> T   e.g. max(timestamp)
      Largest; properties are compared as text
    exact any(T) -> T   e.g. any(event)
      One of the values: the smallest, so that it is fixed; NULL only where all are
      engine: min
    exact argMin(T, U) -> T   e.g. argMin(event, timestamp)
      The first where the second is smallest; of several the smallest
    exact argMax(T, U) -> T   e.g. argMax(event, timestamp)
      The first where the second is largest; of several the largest
    uniq(any, any...) -> integer!   e.g. uniq(distinct_id)
      About how many different values
    uniqExact(any, any...) -> integer!   e.g. uniqExact(distinct_id)
      How many different values
    uniqCombined(any, any...) -> integer!   e.g. uniqCombined(distinct_id)
      About how many different values, with little memory
    quantile#level(number) -> float   e.g. quantile(0.9)(length(event))
      Quantile, exact, between neighbours by their distance
      engine: quantileExactInclusive
    quantileExact#level(number) -> float   e.g. quantileExact(0.9)(length(event))
      Quantile that is one of the values
    median(number) -> float   e.g. median(length(event))
      The same as \`quantile(0.5)\`
      engine: quantileExactInclusive
    exact quantiles#level...(number) -> [float]   e.g. quantiles(0.5, 0.9)(length(event))
      Several quantiles
      engine: quantilesExactInclusive
    exact groupArray(T) -> [T]   e.g. groupArray(event)
      All values that are not NULL, sorted, so that their order is fixed
    exact groupUniqArray(T) -> [T]   e.g. groupUniqArray(event)
      The different values that are not NULL, sorted
    exact groupBitAnd(integer) -> integer   e.g. groupBitAnd(team_id)
      Bits of all
    exact groupBitOr(integer) -> integer   e.g. groupBitOr(team_id)
      Bits of any
    exact groupBitXor(integer) -> integer   e.g. groupBitXor(team_id)
      Bits of an odd number
    stddevPop(number) -> float   e.g. stddevPop(length(event))
      Standard deviation of all
    stddevSamp(number) -> float   e.g. stddevSamp(length(event))
      Standard deviation of a sample
    varPop(number) -> float   e.g. varPop(length(event))
      Variance of all
    varSamp(number) -> float   e.g. varSamp(length(event))
      Variance of a sample
    corr(number, number) -> float   e.g. corr(length(event), length(distinct_id))
      Correlation
    covarPop(number, number) -> float   e.g. covarPop(length(event), length(distinct_id))
      Covariance of all
    covarSamp(number, number) -> float   e.g. covarSamp(length(event), length(distinct_id))
      Covariance of a sample
  `),
};
