import fc from 'fast-check';
import type {
  BinaryOperator,
  Expression,
  Frame,
  FrameBound,
  Name,
  OrderItem,
  Select,
  SelectCore,
  Source,
  TypeName,
  Window,
} from '../../server/engine/query/parse/tree.ts';

const span = { start: 0, end: 0 };
const names = [
  'event',
  'x',
  'SELECT',
  'from',
  'a b',
  'c`d',
  'back\\slash',
  '$browser',
  '"',
  'ünï',
  "it's",
  'interval',
  '😀',
  'rows',
  '_',
  'all',
  'left',
  'NULL',
  '1a',
  '--',
  'new\nline',
];
const name: fc.Arbitrary<Name> = fc.constantFrom(...names).map((text) => ({ text, ...span }));
const operators = 'OR AND = != < <= > >= ?? || + - * / %'.split(' ') as BinaryOperator[];
const digits = fc.oneof(
  fc.nat().map(String),
  fc.constantFrom('1.5', '.5', '2.', '1e10', '1.5e-3', '00', '18446744073709551615'),
);
// Any character except surrogates. The unit `grapheme` of fast-check first fills a table of almost
// a million.
const character = fc
  .nat({ max: 0x10ffff - 0x800 })
  .map((number) => String.fromCodePoint(number < 0xd800 ? number : number + 0x800));
const text = fc
  .oneof(
    fc.string({ unit: character, maxLength: 8 }),
    fc.constantFrom("'", '\\', "\\'", '\n\t', '--', '/*', '{p0:String}', ';', '👩‍👩‍👧', '각'),
  )
  .map((value) => value.replaceAll('\0', ''));
const optional = <Value>(arbitrary: fc.Arbitrary<Value>) =>
  fc.option(arbitrary, { nil: undefined, freq: 2 });
const few = <Value>(arbitrary: fc.Arbitrary<Value>, least = 1) =>
  fc.array(arbitrary, { minLength: least, maxLength: 3 });
/** Removes the undefined entries, because the parser omits them. */
const dense = <Value extends object>(value: Value): Value =>
  Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as Value;

const type: fc.Arbitrary<TypeName> = fc
  .tuple(name, fc.array(name, { maxLength: 2 }))
  .map(([outer, inner]) => ({
    name: outer.text,
    items: inner.map((one) => ({ name: one.text, items: [], ...span })),
    ...span,
  }));
const bound: fc.Arbitrary<FrameBound> = fc.oneof(
  fc.constant<FrameBound>({ kind: 'current' }),
  fc
    .tuple(
      fc.constantFrom('preceding' as const, 'following' as const),
      optional(fc.nat({ max: 9 })),
    )
    .map(([kind, rows]) => dense({ kind, rows })),
);
const frame: fc.Arbitrary<Frame> = fc.record({
  unit: fc.constantFrom('ROWS', 'RANGE'),
  from: bound,
  to: bound,
});

const star = fc
  .record({ table: optional(name), except: optional(few(name)) })
  .map((node): Expression => ({ kind: 'star', ...dense(node), ...span }));

type Parts = {
  expression: Expression;
  select: Select;
  window: Window;
  order: OrderItem[];
  source: Source;
  core: SelectCore;
};
type Some<Names extends keyof Parts> = { [Part in Names]: fc.Arbitrary<Parts[Part]> };
type Tie = fc.LetrecTypedTie<Parts>;

const leaf: fc.Arbitrary<Expression> = fc.oneof(
  fc.constant<Expression>({ kind: 'null', ...span }),
  fc.boolean().map((value): Expression => ({ kind: 'boolean', value, ...span })),
  digits.map((value): Expression => ({ kind: 'number', digits: value, ...span })),
  text.map((value): Expression => ({ kind: 'text', value, ...span })),
  few(name).map((parts): Expression => ({ kind: 'column', parts, ...span })),
);

function operations(tie: Tie): fc.Arbitrary<Expression>[] {
  const one = tie('expression');
  const negated = fc.boolean();
  return [
    fc
      .record({ kind: fc.constantFrom('not' as const, 'minus' as const), operand: one })
      .map((node): Expression => ({ ...node, ...span })),
    fc
      .record({ operator: fc.constantFrom(...operators), left: one, right: one })
      .map((node): Expression => ({ kind: 'binary', ...node, ...span })),
    fc
      .record({ negated, operand: one, low: one, high: one })
      .map((node): Expression => ({ kind: 'between', ...node, ...span })),
    fc
      .record({ negated, insensitive: fc.boolean(), operand: one, pattern: one })
      .map((node): Expression => ({ kind: 'like', ...node, ...span })),
    fc
      .record({ negated, operand: one, items: few(one) })
      .map((node): Expression => ({ kind: 'in_list', ...node, ...span })),
    fc
      .record({ negated, operand: one, select: tie('select') })
      .map((node): Expression => ({ kind: 'in_select', ...node, ...span })),
    fc
      .record({ negated, operand: one })
      .map((node): Expression => ({ kind: 'is_null', ...node, ...span })),
    fc
      .record({ operand: one, type })
      .map((node): Expression => ({ kind: 'cast', ...node, ...span })),
    fc
      .record({ count: one, unit: fc.constantFrom('DAY', 'MICROSECOND') })
      .map((node): Expression => ({ kind: 'interval', ...node, ...span })),
  ];
}

/** Expressions of several parts: lists, lambdas, subqueries, pieces of values, cases and calls. */
function compounds(tie: Tie): fc.Arbitrary<Expression>[] {
  const one = tie('expression');
  return [
    few(one, 0).map((items): Expression => ({ kind: 'array', items, ...span })),
    fc
      .array(one, { minLength: 2, maxLength: 3 })
      .map((items): Expression => ({ kind: 'tuple', items, ...span })),
    fc
      .record({ parameters: few(name), body: one })
      .map((node): Expression => ({ kind: 'lambda', ...node, ...span })),
    tie('select').map((node): Expression => ({ kind: 'select', select: node, ...span })),
    fc
      .record({ target: one, index: one })
      .map((node): Expression => ({ kind: 'element', ...node, ...span })),
    fc
      .record({ target: one, position: fc.nat({ max: 9 }) })
      .map((node): Expression => ({ kind: 'tuple_element', ...node, ...span })),
    fc
      .record({
        operand: optional(one),
        branches: few(fc.record({ when: one, result: one })),
        otherwise: optional(one),
      })
      .map((node): Expression => ({ kind: 'case', ...dense(node), ...span })),
    fc
      .record({
        name,
        parameters: optional(few(one, 0)),
        args: few(one, 0),
        filter: optional(one),
        nulls: optional(fc.constantFrom('IGNORE' as const, 'RESPECT' as const)),
        window: optional(tie('window')),
      })
      .map((node): Expression => ({ kind: 'call', distinct: false, ...dense(node), ...span })),
  ];
}

function innerExpressions(tie: Tie): fc.Arbitrary<Expression> {
  return fc.oneof(...operations(tie), ...compounds(tie));
}

function windowsAndOrders(tie: Tie): Some<'window' | 'order'> {
  const one = tie('expression');
  return {
    window: fc.oneof(
      name.map((named): Window => ({ name: named, partition_by: [], order_by: [] })),
      fc
        .record({ partition_by: few(one, 0), order_by: tie('order'), frame: optional(frame) })
        .map(dense),
    ),
    order: fc.array(
      fc
        .record({
          expression: one,
          descending: fc.boolean(),
          nulls: optional(fc.constantFrom('FIRST' as const, 'LAST' as const)),
        })
        .map(dense),
      {
        maxLength: 2,
      },
    ),
  };
}

function sourcesAndCores(tie: Tie): Some<'source' | 'core'> {
  const one = tie('expression');
  return {
    source: fc.oneof(
      { maxDepth: 4, depthIdentifier: 'tree' },
      fc
        .record({ name, alias: optional(name) })
        .map((node): Source => ({ kind: 'table', ...dense(node), ...span })),
      fc
        .record({ select: tie('select'), alias: optional(name) })
        .map((node): Source => ({ kind: 'subquery', ...dense(node), ...span })),
    ),
    core: fc
      .record({
        distinct: fc.boolean(),
        items: few(
          fc.record({ expression: fc.oneof(one, star), alias: optional(name) }).map(dense),
        ),
        from: optional(tie('source')),
        joins: fc.array(
          fc.record({
            kind: fc.constantFrom('INNER' as const, 'LEFT' as const, 'FULL' as const),
            source: tie('source'),
            on: one,
          }),
          {
            maxLength: 1,
          },
        ),
        where: optional(one),
        group_by: few(one, 0),
        having: optional(one),
        windows: fc.array(
          fc.record({
            name,
            window: fc.record({ partition_by: few(one, 0), order_by: tie('order') }),
          }),
          { maxLength: 1 },
        ),
        qualify: optional(one),
        order_by: tie('order'),
        limit_by: optional(
          fc.record({ count: fc.nat({ max: 9 }), offset: fc.nat({ max: 9 }), by: few(one) }),
        ),
        limit: optional(fc.nat({ max: 99 })),
        offset: optional(fc.integer({ min: 1, max: 99 })),
      })
      .map((core): SelectCore => {
        const joins = core.from === undefined ? [] : core.joins;
        return {
          kind: 'core',
          with: [],
          group_by_all: false,
          ...dense({ ...core, joins }),
          ...span,
        };
      }),
  };
}

const { expression, select } = fc.letrec<Parts>((tie) => ({
  expression: fc.oneof({ maxDepth: 4, depthIdentifier: 'tree' }, leaf, innerExpressions(tie)),
  ...windowsAndOrders(tie),
  ...sourcesAndCores(tie),
  select: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'tree' },
    tie('core'),
    fc
      .record({
        distinct: fc.boolean(),
        arms: fc.array(tie('core'), { minLength: 2, maxLength: 3 }),
      })
      .map((union): Select => ({ kind: 'union', ...union, ...span })),
  ),
}));

/** Trees of any form, with names and texts that are hard to print; most of them make no sense. */
export const random_select = select;
/** The same for expressions. */
export const random_expression = expression;
