import { readFunctions } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

/** Arrays, tuples and maps. */
export const arrays: FunctionTopic = {
  title: 'Arrays, tuples and maps',
  note:
    '`[a, b]` makes an array, `(a, b)` a tuple. `items[1]` is the first item (an empty value ' +
    'if the array has none), `pair.1` the first element. A lambda is written `x -> x + 1` or ' +
    '`(x, y) -> x + y`. As a column of the export they are JSON.',
  functions: readFunctions(`
    exact array(T...) -> [T]   e.g. array(1, 2)
      \`[a, b]\`
    exact tuple(any, any...) -> tuple   e.g. tuple(1, 'a')
      \`(a, b)\`
    exact map(pairs...) -> map   e.g. map('a', 1, 'b', 2)
      From keys and values by turns
    exact mapKeys({K:V}) -> [K]   e.g. mapKeys(map('a', 1))
      Keys
    exact mapValues({K:V}) -> [V]   e.g. mapValues(map('a', 1))
      Values
    mapContains({K:V}, K) -> boolean   e.g. mapContains(map('a', 1), 'a')
      True if the key exists
    has([T], T) -> boolean   e.g. has(['a', 'b'], event)
      True if it is one of the items
    hasAny([T], [T]) -> boolean   e.g. hasAny([1, 2], [2, 3])
      Have both an item in common?
      engine: notEmpty(arrayIntersect($1, $2))
    hasAll([T], [T]) -> boolean   e.g. hasAll([1, 2], [2])
      Are all items of the second in the first?
      engine: equals(length(arrayIntersect($1, $2)), length(arrayDistinct($2)))
    indexOf([T], T) -> integer   e.g. indexOf(['a', 'b'], 'b')
      Position of the first equal item, from 1; otherwise 0
    countEqual([T], T) -> integer   e.g. countEqual([1, 2, 1], 1)
      How many items are equal
    exact arrayElement([T], integer) -> T   e.g. arrayElement([1, 2], 1)
      \`items[n]\`
    exact tupleElement(tuple, #integer) -> element   e.g. tupleElement((1, 'a'), 2)
      \`pair.1\`
    exact arrayConcat([T], [T]...) -> [T]   e.g. arrayConcat([1], [2])
      One list after another
    exact arrayPushBack([T], T) -> [T]   e.g. arrayPushBack([1], 2)
      With one more at the end
    exact arrayPushFront([T], T) -> [T]   e.g. arrayPushFront([1], 2)
      With one more at the start
    exact arrayPopBack([T]) -> [T]   e.g. arrayPopBack([1, 2])
      Without the last
    exact arrayPopFront([T]) -> [T]   e.g. arrayPopFront([1, 2])
      Without the first
    exact arraySlice([T], integer, integer?) -> [T]   e.g. arraySlice([1, 2, 3], 2)
      From an item, counted from 1, so many
    exact arrayReverse([T]) -> [T]   e.g. arrayReverse([1, 2])
      Backwards
    exact arrayDistinct([T]) -> [T]   e.g. arrayDistinct([1, 1])
      Each item once
    exact arrayCompact([T]) -> [T]   e.g. arrayCompact([1, 1])
      Without repeats of the neighbour
    exact arrayFlatten([[T]]) -> [T]   e.g. arrayFlatten([[1], [2, 3]])
      Arrays in an array as one
    exact arrayIntersect([T], [T]...) -> [T]   e.g. arraySort(arrayIntersect([1, 2], [2, 3]))
      Items of all
      engine: arraySort(arrayIntersect($*))
    arrayUniq([any]) -> integer   e.g. arrayUniq([1, 1])
      How many different items
    exact arrayEnumerate([any]) -> [integer]   e.g. arrayEnumerate(['a', 'b'])
      The positions from 1
      engine: CAST(arrayEnumerate($1), 'Array(Int64)')
    exact arrayZip([T], [U]) -> [(T, U)]   e.g. arrayZip([1, 2], ['a', 'b'])
      Tuples of items at the same position
    exact arrayDifference([integer]) -> [integer]   e.g. arrayDifference([1, 5])
      Differences of neighbours, first 0
    exact arrayCumSum([integer]) -> [integer]   e.g. arrayCumSum([1, 5])
      Sums up to each item
    exact arrayMap(lambda, [any]...) -> [U]   e.g. arrayMap(x -> x + 1, [1, 2])
      What the lambda gives for each item
    exact arrayFilter(test, [T], [any]...) -> [T]   e.g. arrayFilter(x -> x > 1, [1, 2])
      Items for which the lambda holds
    arrayExists(test, [any]...) -> boolean   e.g. arrayExists(x -> x > 1, [1, 2])
      Does the lambda hold for one?
    arrayAll(test, [any]...) -> boolean   e.g. arrayAll(x -> x > 1, [1, 2])
      Does the lambda hold for all?
    arrayCount(test, [any]...) -> integer   e.g. arrayCount(x -> x > 1, [1, 2])
      For how many does the lambda hold?
    exact arrayFirst(test, [T], [any]...) -> T   e.g. arrayFirst(x -> x > 1, [1, 2])
      First item for which the lambda is true, otherwise an empty value
    exact arrayLast(test, [T], [any]...) -> T   e.g. arrayLast(x -> x > 1, [1, 2])
      Last item for which the lambda is true, otherwise an empty value
    arrayFirstIndex(test, [any]...) -> integer   e.g. arrayFirstIndex(x -> x > 1, [1, 2])
      Position of the first item for which the lambda is true, otherwise 0
    exact arraySort([T]) -> [T] | (lambda, [T], [any]...) -> [T]   e.g. arraySort(x -> -x, [1, 2])
      In order, of the items or of what the lambda gives
    exact arrayReverseSort([T]) -> [T] | (lambda, [T], [any]...) -> [T]
      e.g. arrayReverseSort([1, 2])
      In falling order
    arraySum([N]) -> N   e.g. arraySum([1, 2])
      Sum
    arrayAvg([number]) -> float   e.g. arrayAvg([1, 2])
      Mean
    exact arrayMin([T]) -> T   e.g. arrayMin([1, 2])
      Smallest
    exact arrayMax([T]) -> T   e.g. arrayMax([1, 2])
      Largest
    arrayProduct([number]) -> float   e.g. arrayProduct([2, 3])
      Product
    exact arrayJoin([T]) -> T   e.g. arrayJoin([1, 2])
      A row for each item; none for an empty array
  `),
};
