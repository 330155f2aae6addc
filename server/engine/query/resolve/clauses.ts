import type { OrderItem } from '../parse/tree.ts';
import type { Value } from '../values/value.ts';

/** A column of the SELECT list. */
export type Item = { name: string; value: Value };

/** A key of ORDER BY; `output` is the number of the equal output column. */
export type Order = { item: OrderItem; value: Value; output: number | undefined };

/** The resolved clauses of a SELECT after its list. */
export type Clauses = {
  where?: Value;
  keys: Value[];
  having?: Value;
  qualify?: Value;
  order: Order[];
  limit_by: Value[];
};
