type Table = { name: string; columns: { name: string }[] };

/**
 * The tables whose columns may be written at the end of this text, which is behind a dot; undefined
 * where it is not, and anything may be. Behind a column, whose keys nobody lists, none may.
 */
export function tablesBehindDot<One extends Table>(text: string, tables: One[]): One[] | undefined {
  const qualifier = /([\w$]+)\.[\w$]*$/.exec(text)?.[1];
  if (qualifier === undefined) return undefined;
  const named = tables.filter(({ name }) => name === qualifier);
  if (named.length > 0) return named;
  const isColumn = ({ columns }: Table) => columns.some(({ name }) => name === qualifier);
  // Any other name is what the query calls a table.
  return tables.some(isColumn) ? [] : tables;
}
