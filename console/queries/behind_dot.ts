type Table = { name: string; columns: { name: string }[] };

/**
 * Returns the tables whose columns may follow this text, which ends with a dot; undefined without a
 * dot, where anything may follow. After a column, whose keys are unknown, none may follow.
 */
export function tablesBehindDot<One extends Table>(text: string, tables: One[]): One[] | undefined {
  const qualifier = /([\w$]+)\.[\w$]*$/.exec(text)?.[1];
  if (qualifier === undefined) return undefined;
  const named = tables.filter(({ name }) => name === qualifier);
  if (named.length > 0) return named;
  const isColumn = ({ columns }: Table) => columns.some(({ name }) => name === qualifier);
  // Any other name is the query's name for a table.
  return tables.some(isColumn) ? [] : tables;
}
