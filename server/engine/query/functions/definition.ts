/**
 * One function of the query language. `signature` lists its parameters and result, as
 * docs/query_language.md shows them; several are separated by ` | `. `engine` is the ClickHouse
 * text with `$1` for an argument and `$*` for all, unless it is `name($*)`. `exact`: ClickHouse
 * returns exactly the type of the signature, so it needs no conversion. `example` runs alone over
 * `events`.
 */
export type FunctionDefinition = {
  name: string;
  signature: string;
  meaning: string;
  example: string;
  engine?: string;
  exact?: boolean;
  /**
   * True if it searches its text repeatedly, in quadratic time: the text is cut, and a lambda may
   * not call it.
   */
  scans?: boolean;
};

/** The functions of one topic, as docs/query_language.md lists them. */
export type FunctionTopic = { title: string; note?: string; functions: FunctionDefinition[] };

/** Returns a definition, written on one line. */
export function define(
  name: string,
  signature: string,
  meaning: string,
  example: string,
  more: Pick<FunctionDefinition, 'engine' | 'exact' | 'scans'> = {},
): FunctionDefinition {
  return { name, signature, meaning, example, ...more };
}
