import type { Span } from '../query_error.ts';

/** A name as it was written; quoting makes no difference. */
export type Name = Span & { text: string };

/** Operators of two operands, as `print.ts` writes them. */
export type BinaryOperator =
  | 'OR'
  | 'AND'
  | '='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>='
  | '??'
  | '||'
  | '+'
  | '-'
  | '*'
  | '/'
  | '%';

/** A type's name in CAST and `::`, with the content of its brackets. */
export type TypeName = Span & { name: string; items: TypeName[] };

/** The window of a window function: its own, or the one that a WINDOW clause names. */
export type Window = {
  name?: Name;
  partition_by: Expression[];
  order_by: OrderItem[];
  frame?: Frame;
};

/**
 * One bound of a frame; `rows` is the number before PRECEDING or FOLLOWING, undefined for
 * UNBOUNDED.
 */
export type FrameBound = { kind: 'current' } | { kind: 'preceding' | 'following'; rows?: number };

/** ROWS or RANGE BETWEEN two bounds. */
export type Frame = { unit: 'ROWS' | 'RANGE'; from: FrameBound; to: FrameBound };

/** One entry of ORDER BY. */
export type OrderItem = { expression: Expression; descending: boolean; nulls?: 'FIRST' | 'LAST' };

/** An expression. Every node has its span in the text. */
export type Expression = Span &
  (
    | { kind: 'null' }
    | { kind: 'boolean'; value: boolean }
    | { kind: 'number'; digits: string }
    | { kind: 'text'; value: string }
    | { kind: 'column'; parts: Name[] }
    | { kind: 'element'; target: Expression; index: Expression }
    | { kind: 'tuple_element'; target: Expression; position: number }
    | { kind: 'field'; target: Expression; name: Name }
    | {
        kind: 'call';
        name: Name;
        parameters?: Expression[];
        args: Expression[];
        distinct: boolean;
        filter?: Expression;
        nulls?: 'IGNORE' | 'RESPECT';
        window?: Window;
      }
    | { kind: 'not'; operand: Expression }
    | { kind: 'minus'; operand: Expression }
    | { kind: 'binary'; operator: BinaryOperator; left: Expression; right: Expression }
    | { kind: 'between'; negated: boolean; operand: Expression; low: Expression; high: Expression }
    | {
        kind: 'like';
        negated: boolean;
        insensitive: boolean;
        operand: Expression;
        pattern: Expression;
      }
    | { kind: 'in_list'; negated: boolean; operand: Expression; items: Expression[] }
    | { kind: 'in_select'; negated: boolean; operand: Expression; select: Select }
    | { kind: 'is_null'; negated: boolean; operand: Expression }
    | {
        kind: 'case';
        operand?: Expression;
        branches: { when: Expression; result: Expression }[];
        otherwise?: Expression;
      }
    | { kind: 'cast'; operand: Expression; type: TypeName }
    | { kind: 'interval'; count: Expression; unit: string }
    | { kind: 'array'; items: Expression[] }
    | { kind: 'tuple'; items: Expression[] }
    | { kind: 'lambda'; parameters: Name[]; body: Expression }
    | { kind: 'select'; select: Select }
    | { kind: 'star'; table?: Name; except?: Name[] }
  );

/** The node of one kind. */
export type ExpressionOf<Kind extends Expression['kind']> = Extract<Expression, { kind: Kind }>;

/** An entry of the SELECT list. */
export type SelectItem = { expression: Expression; alias?: Name };

/** An entry of WITH: a subquery under a name, or an expression under a name. */
export type With = { name: Name; select: Select } | { name: Name; expression: Expression };

/** The source of FROM: a table or an entry of WITH by its name, or a subquery. */
export type Source = Span &
  (
    | { kind: 'table'; name: Name; alias?: Name }
    | { kind: 'subquery'; select: Select; alias?: Name }
  );

/** A further source, and the way its rows join the earlier ones. */
export type Join = {
  kind: 'INNER' | 'LEFT' | 'RIGHT' | 'FULL' | 'CROSS';
  source: Source;
  on?: Expression;
  using?: Name[];
};

/** A SELECT without its UNIONs. */
export type SelectCore = Span & {
  kind: 'core';
  with: With[];
  distinct: boolean;
  items: SelectItem[];
  from?: Source;
  joins: Join[];
  where?: Expression;
  group_by: Expression[];
  group_by_all: boolean;
  having?: Expression;
  windows: { name: Name; window: Window }[];
  qualify?: Expression;
  order_by: OrderItem[];
  limit_by?: { count: number; offset: number; by: Expression[] };
  limit?: number;
  offset?: number;
};

/** Two or more SELECTs joined by UNION. */
export type SelectUnion = Span & { kind: 'union'; distinct: boolean; arms: Select[] };

/** A whole query. */
export type Select = SelectCore | SelectUnion;
