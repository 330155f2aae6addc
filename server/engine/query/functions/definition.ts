/**
 * One function of the query language. `signature` says what it takes and gives, as documented in
 * docs/query_language.md; several are parted by ` | `. `engine` is the ClickHouse text with `$1`
 * for an argument and `$*` for all, where it is not `name($*)`. `exact` says that ClickHouse gives
 * the very type that the signature names, so that no conversion is put around it. `example` runs on
 * its own over `events`.
 */
export type FunctionDefinition = {
  name: string;
  signature: string;
  meaning: string;
  example: string;
  engine?: string;
  exact?: boolean;
  /**
   * Its text may hold things that are found again and again, which takes time by the square of the
   * text: it is cut and not allowed inside a lambda.
   */
  scans?: boolean;
};

/** The functions of one topic, as docs/query_language.md has them. */
export type FunctionTopic = { title: string; note?: string; functions: FunctionDefinition[] };

/** A definition on one line. */
export function define(
  name: string,
  signature: string,
  meaning: string,
  example: string,
  more: Pick<FunctionDefinition, 'engine' | 'exact' | 'scans'> = {},
): FunctionDefinition {
  return { name, signature, meaning, example, ...more };
}
