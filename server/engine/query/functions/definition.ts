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
  engine: string | undefined;
  exact: boolean;
  /**
   * True if it searches its text repeatedly, in quadratic time: the text is cut, and a lambda may
   * not call it.
   */
  scans: boolean;
};

/** The functions of one topic, as docs/query_language.md lists them. */
export type FunctionTopic = { title: string; note?: string; functions: FunctionDefinition[] };

const entry =
  /^(?<exact>exact )?(?<scans>scans )?(?<name>\w+)(?<signature>.+?)\s+e\.g\. (?<example>.+)\n\s+(?<meaning>[^]+?)(?:\n\s+engine: (?<engine>.+))?$/;

/**
 * Reads functions from a list: name, signature and example, then the meaning, then the engine's
 * text if it differs. `exact` and `scans` stand before the name. Throws for a malformed entry: the
 * list is part of the program.
 */
export function readFunctions(list: string): FunctionDefinition[] {
  return list
    .trim()
    .split(/\n {4}(?=\S)/)
    .map((text) => {
      const read = entry.exec(text)?.groups;
      if (read === undefined) throw new Error(`This function is not written as others: ${text}`);
      const { name, signature, meaning, example, engine, exact, scans } = read;
      return {
        name: name!,
        signature: signature!,
        meaning: meaning!.replaceAll(/\n\s+/g, ' '),
        example: example!,
        engine,
        exact: exact !== undefined,
        scans: scans !== undefined,
      };
    });
}
