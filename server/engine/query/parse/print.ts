import { isPlainFunctionName, isPlainName } from './cursor.ts';
import { printFrame } from './print_frame.ts';
import type {
  BinaryOperator,
  Expression,
  ExpressionOf,
  Join,
  Name,
  OrderItem,
  Select,
  SelectCore,
  Source,
  TypeName,
  Window,
  With,
} from './tree.ts';

const operators = new Set<Expression['kind']>([
  'not',
  'minus',
  'binary',
  'between',
  'like',
  'in_list',
  'in_select',
  'is_null',
  'cast',
  'interval',
  'lambda',
]);

/**
 * Returns an expression in the query language. Guarantee: `parse` reads it as the same tree,
 * positions aside, which prints the same again.
 */
export function printExpression(node: Expression): string {
  switch (node.kind) {
    case 'null':
      return 'NULL';
    case 'boolean':
      return node.value ? 'true' : 'false';
    case 'number':
      return node.digits;
    case 'text':
      return quoteText(node.value);
    case 'column':
      return node.parts.map(printName).join('.');
    case 'element':
      return `${target(node.target)}[${printExpression(node.index)}]`;
    case 'tuple_element':
      return `${target(node.target)}.${node.position}`;
    case 'field':
      return `${target(node.target)}.${printName(node.name)}`;
    case 'call':
      return printCall(node);
    case 'case':
      return printCase(node);
    case 'array':
      return `[${printList(node.items)}]`;
    case 'tuple':
      return `(${printList(node.items)})`;
    case 'select':
      return `(${printSelect(node.select)})`;
    case 'star':
      return printStar(node);
    default:
      return printOperator(node);
  }
}

function printOperator(
  node: ExpressionOf<
    | 'not'
    | 'minus'
    | 'binary'
    | 'between'
    | 'like'
    | 'in_list'
    | 'in_select'
    | 'is_null'
    | 'cast'
    | 'interval'
    | 'lambda'
  >,
): string {
  const not = 'negated' in node && node.negated ? 'NOT ' : '';
  switch (node.kind) {
    case 'not':
      return `NOT ${operand(node.operand)}`;
    case 'minus':
      return `-${operand(node.operand)}`;
    case 'binary':
      return printBinary(node);
    case 'between': {
      const bounds = `${operand(node.low)} AND ${operand(node.high)}`;
      return `${operand(node.operand)} ${not}BETWEEN ${bounds}`;
    }
    case 'like':
      return (
        `${operand(node.operand)} ${not}${node.insensitive ? 'ILIKE' : 'LIKE'} ` +
        operand(node.pattern)
      );
    case 'in_list':
      return `${operand(node.operand)} ${not}IN (${printList(node.items)})`;
    case 'in_select':
      return `${operand(node.operand)} ${not}IN (${printSelect(node.select)})`;
    case 'is_null':
      return `${operand(node.operand)} IS ${not}NULL`;
    case 'cast':
      return `CAST(${printExpression(node.operand)} AS ${printType(node.type)})`;
    case 'interval':
      return `INTERVAL ${operand(node.count)} ${node.unit}`;
    case 'lambda':
      return `${printParameters(node.parameters)} -> ${operand(node.body)}`;
  }
}

// Operators of equal precedence group to the left, so a row of them needs no brackets.
const alike: BinaryOperator[][] = [
  ['OR'],
  ['AND'],
  ['??'],
  ['=', '!=', '<', '<=', '>', '>='],
  ['||'],
  ['+', '-'],
  ['*', '/', '%'],
];

function printBinary(node: ExpressionOf<'binary'>): string {
  const group = alike.find((operators) => operators.includes(node.operator));
  const parts: string[] = [];
  let left: Expression = node;
  while (left.kind === 'binary' && group?.includes(left.operator) === true) {
    parts.unshift(left.operator, operand(left.right));
    left = left.left;
  }
  return [operand(left), ...parts].join(' ');
}

/** Prints an operand: in brackets if it has an operator of its own. */
function operand(node: Expression): string {
  const text = printExpression(node);
  return operators.has(node.kind) && node.kind !== 'cast' ? `(${text})` : text;
}

/** Prints an expression before a dot or bracket: after a number, a dot would begin its fraction. */
function target(node: Expression): string {
  return node.kind === 'number' ? `(${node.digits})` : operand(node);
}

function printName({ text }: Pick<Name, 'text'>): string {
  return isPlainName(text) ? text : `\`${text.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}

function printStar({ table, except }: ExpressionOf<'star'>): string {
  return (
    `${table === undefined ? '' : `${printName(table)}.`}*` +
    (except === undefined ? '' : ` EXCEPT (${except.map(printName).join(', ')})`)
  );
}

function printList(nodes: Expression[]): string {
  return nodes.map(printExpression).join(', ');
}

function printParameters(names: Name[]): string {
  return names.length === 1 ? printName(names[0]!) : `(${names.map(printName).join(', ')})`;
}

function printOrder(items: OrderItem[]): string {
  return items
    .map(
      ({ expression, descending, nulls }) =>
        printExpression(expression) +
        (descending ? ' DESC' : '') +
        (nulls === undefined ? '' : ` NULLS ${nulls}`),
    )
    .join(', ');
}

function printWindow({ partition_by, order_by, frame }: Window): string {
  const parts = [
    partition_by.length === 0 ? '' : `PARTITION BY ${printList(partition_by)}`,
    order_by.length === 0 ? '' : `ORDER BY ${printOrder(order_by)}`,
    frame === undefined ? '' : printFrame(frame),
  ];
  return `(${parts.filter((part) => part !== '').join(' ')})`;
}

function quoteText(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function printType({ name, items }: TypeName): string {
  return items.length === 0
    ? printName({ text: name })
    : `${printName({ text: name })}(${items.map(printType).join(', ')})`;
}

function printCall({
  name,
  parameters,
  args,
  distinct,
  filter,
  nulls,
  window,
}: ExpressionOf<'call'>): string {
  return [
    isPlainFunctionName(name.text) ? name.text : printName(name),
    parameters === undefined ? '' : `(${printList(parameters)})`,
    `(${distinct ? 'DISTINCT ' : ''}${printList(args)})`,
    nulls === undefined ? '' : ` ${nulls} NULLS`,
    filter === undefined ? '' : ` FILTER (WHERE ${printExpression(filter)})`,
    window === undefined
      ? ''
      : ` OVER ${window.name === undefined ? printWindow(window) : printName(window.name)}`,
  ].join('');
}

function printCase({ operand: compared, branches, otherwise }: ExpressionOf<'case'>): string {
  const whens = branches.map(
    ({ when, result }) => ` WHEN ${printExpression(when)} THEN ${printExpression(result)}`,
  );
  const head = compared === undefined ? '' : ` ${printExpression(compared)}`;
  const tail = otherwise === undefined ? '' : ` ELSE ${printExpression(otherwise)}`;
  return `CASE${head}${whens.join('')}${tail} END`;
}

/**
 * Returns a SELECT in the query language, on one line. Guarantee: `parse` reads it as the same
 * tree, positions aside, which prints the same again.
 */
export function printSelect(select: Select): string {
  if (select.kind === 'core') return printCore(select);
  return select.arms
    .map((arm) => `(${printSelect(arm)})`)
    .join(select.distinct ? ' UNION DISTINCT ' : ' UNION ALL ');
}

function printCore(core: SelectCore): string {
  const clause = (keyword: string, text: string | undefined) =>
    text === undefined || text === '' ? '' : `${keyword} ${text}`;
  const { limit_by } = core;
  const parts = [
    clause('WITH', core.with.map(printWith).join(', ')),
    core.distinct ? 'SELECT DISTINCT' : 'SELECT',
    core.items
      .map(
        ({ expression, alias }) =>
          `${printExpression(expression)}${alias === undefined ? '' : ` AS ${printName(alias)}`}`,
      )
      .join(', '),
    core.from === undefined ? '' : `FROM ${printSource(core.from)}`,
    ...core.joins.map(printJoin),
    clause('WHERE', core.where && printExpression(core.where)),
    clause('GROUP BY', core.group_by_all ? 'ALL' : printList(core.group_by)),
    clause('HAVING', core.having && printExpression(core.having)),
    clause(
      'WINDOW',
      core.windows
        .map(({ name, window }) => `${printName(name)} AS ${printWindow(window)}`)
        .join(', '),
    ),
    clause('QUALIFY', core.qualify && printExpression(core.qualify)),
    clause('ORDER BY', printOrder(core.order_by)),
    limit_by === undefined
      ? ''
      : `LIMIT ${limit_by.count}${limit_by.offset === 0 ? '' : ` OFFSET ${limit_by.offset}`} BY ` +
        printList(limit_by.by),
    clause('LIMIT', core.limit?.toString()),
    clause('OFFSET', core.offset?.toString()),
  ];
  return parts.filter((part) => part !== '').join(' ');
}

function printWith(entry: With): string {
  return 'select' in entry
    ? `${printName(entry.name)} AS (${printSelect(entry.select)})`
    : `${printExpression(entry.expression)} AS ${printName(entry.name)}`;
}

function printJoin({ kind, source, on, using }: Join): string {
  const condition =
    using === undefined
      ? on === undefined
        ? ''
        : ` ON ${printExpression(on)}`
      : ` USING (${using.map(printName).join(', ')})`;
  return `${kind} JOIN ${printSource(source)}${condition}`;
}

function printSource(source: Source): string {
  const what = source.kind === 'table' ? printName(source.name) : `(${printSelect(source.select)})`;
  return source.alias === undefined ? what : `${what} AS ${printName(source.alias)}`;
}
