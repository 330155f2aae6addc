/**
 * Returns the columns of a sorting key as the server describes it: names in backticks if needed,
 * and on newer servers a single one in parentheses. An expression stays unchanged.
 */
export function sortingColumns(key: string): string[] {
  const inside = /^\((.*)\)$/s.exec(key)?.[1] ?? key;
  const parts = inside.match(/`(?:[^`\\]|\\.)*`|[^,`\s](?:[^,`]*)/gs) ?? [];
  return parts.map((part) =>
    part.startsWith('`') ? part.slice(1, -1).replaceAll(/\\(.)/gs, '$1') : part,
  );
}

const engine_token = /'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|"(?:[^"\\]|\\.)*"|\w+|[^\w]/gs;

/**
 * Returns partition, order and sampling keys in the exact text of the table's definition: the
 * server treats `(a)` and `a` as different keys. Omits the rest: settings belong to the table, and
 * a TTL would remove rows from the stage before they are counted.
 */
export function keyClauses(engineFull: string): string {
  let depth = 0;
  let start: number | undefined;
  for (const { 0: token, index } of engineFull.matchAll(engine_token)) {
    if (token === '(' || token === '[') depth += 1;
    else if (token === ')' || token === ']') depth -= 1;
    else if (depth === 0 && ['PARTITION', 'PRIMARY', 'ORDER', 'SAMPLE'].includes(token))
      start ??= index;
    else if (depth === 0 && start !== undefined && ['TTL', 'SETTINGS', 'COMMENT'].includes(token))
      return engineFull.slice(start, index).trimEnd();
  }
  return engineFull.slice(start ?? engineFull.length);
}
