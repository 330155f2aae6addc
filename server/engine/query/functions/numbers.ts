import { readFunctions } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

/** Arithmetic and rounding. */
export const numbers: FunctionTopic = {
  title: 'Numbers',
  note:
    'The operators `+ - * / %` also exist. Whole numbers have 64 bits and wrap around; `/` ' +
    'always gives a float.',
  functions: readFunctions(`
    exact plus(N, N) -> N   e.g. plus(1, 2)
      \`a + b\`
    exact minus(N, N) -> N   e.g. minus(1, 2)
      \`a - b\`
    exact multiply(N, N) -> N   e.g. multiply(2, 3)
      \`a * b\`
    divide(number, number) -> float   e.g. divide(1, 3)
      \`a / b\`; a division by zero gives infinity
    intDiv(integer, integer) -> integer   e.g. intDiv(7, 2)
      Division without the fraction; fails on a division by zero
    intDivOrZero(integer, integer) -> integer   e.g. intDivOrZero(7, 0)
      \`intDiv\`, 0 on a division by zero
    modulo(N, N) -> N   e.g. modulo(7, 3)
      \`a % b\`
    positiveModulo(N, N) -> N   e.g. positiveModulo(-1, 3)
      Like \`modulo\`, never negative
    exact negate(N) -> N   e.g. negate(1)
      \`-a\`
    abs(N) -> N   e.g. abs(-1)
      Without its sign
    sign(number) -> integer   e.g. sign(-5)
      -1, 0 or 1
    round(number, #integer?) -> float   e.g. round(1.256, 2)
      Nearest number with so many decimal places (0); halves to the even one
    floor(number, #integer?) -> float   e.g. floor(1.9)
      Largest number below with so many decimal places
    ceil(number, #integer?) -> float   e.g. ceil(1.1)
      Smallest number above with so many decimal places
    trunc(number, #integer?) -> float   e.g. trunc(-1.9)
      Towards zero with so many decimal places
    sqrt(number) -> float   e.g. sqrt(2)
      Square root
    cbrt(number) -> float   e.g. cbrt(27)
      Cube root
    pow(number, number) -> float   e.g. pow(2, 10)
      Power
    exp(number) -> float   e.g. exp(1)
      e to this power
    log(number) -> float   e.g. log(10)
      Natural logarithm
    log2(number) -> float   e.g. log2(8)
      Logarithm to base 2
    log10(number) -> float   e.g. log10(100)
      Logarithm to base 10
    sin(number) -> float   e.g. sin(1)
      Sine
    cos(number) -> float   e.g. cos(1)
      Cosine
    tan(number) -> float   e.g. tan(1)
      Tangent
    asin(number) -> float   e.g. asin(1)
      Arc sine
    acos(number) -> float   e.g. acos(1)
      Arc cosine
    atan(number) -> float   e.g. atan(1)
      Arc tangent
    atan2(number, number) -> float   e.g. atan2(1, 2)
      Arc tangent of a quotient
    radians(number) -> float   e.g. radians(180)
      Degrees as radians
    degrees(number) -> float   e.g. degrees(1)
      Radians as degrees
    pi() -> float   e.g. pi()
      π
    exact greatest(T, T...) -> T   e.g. greatest(1, 2, 3)
      The largest; NULL only where all are
    exact least(T, T...) -> T   e.g. least(1, 2, 3)
      The smallest; NULL only where all are
    isFinite(float) -> boolean   e.g. isFinite(1.5)
      Neither infinite nor not-a-number
    isInfinite(float) -> boolean   e.g. isInfinite(1 / 0)
      Infinite
    isNaN(float) -> boolean   e.g. isNaN(0 / 0)
      Not a number
    gcd(integer, integer) -> integer   e.g. gcd(12, 18)
      Greatest common divisor
    lcm(integer, integer) -> integer   e.g. lcm(4, 6)
      Least common multiple
    bitAnd(integer, integer) -> integer   e.g. bitAnd(6, 3)
      Bits of both
    bitOr(integer, integer) -> integer   e.g. bitOr(6, 3)
      Bits of either
    bitXor(integer, integer) -> integer   e.g. bitXor(6, 3)
      Bits of one
    bitShiftLeft(integer, #integer) -> integer   e.g. bitShiftLeft(1, 4)
      Bits moved to the left
    bitShiftRight(integer, #integer) -> integer   e.g. bitShiftRight(16, 4)
      Bits moved to the right
    bitTest(integer, #integer) -> boolean   e.g. bitTest(5, 2)
      Is this bit set, counted from 0?
    widthBucket(number, number, number, #size) -> integer   e.g. widthBucket(5, 0, 10, 4)
      Number of the bucket of equal width between two bounds
      engine: widthBucket(toFloat64($1), toFloat64($2), toFloat64($3), toUInt32($4))
  `),
};
