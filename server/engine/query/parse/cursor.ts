import { Fault } from '../fault.ts';
import { tokenize } from './lexer.ts';
import type { Token } from './lexer.ts';
import type { Span } from '../query_error.ts';
import type { Name } from './tree.ts';

/** Most levels of nested expressions and subqueries. */
const depth_max = 100;
/** Most nodes of a query's tree. */
const nodes_max = 5_000;

// Words that end an expression or a table: they can only be names in quotes.
const reserved = new Set(
  (
    'SELECT FROM WHERE GROUP HAVING QUALIFY ORDER BY LIMIT OFFSET UNION INTERSECT EXCEPT JOIN ' +
    'ON USING INNER LEFT RIGHT FULL CROSS OUTER ANY ALL ASOF SEMI ANTI GLOBAL ARRAY AS AND OR ' +
    'NOT ' +
    'IN IS LIKE ILIKE BETWEEN CASE CAST INTERVAL WHEN THEN ELSE END WITH DISTINCT NULL TRUE ' +
    'FALSE ASC DESC NULLS WINDOW OVER FINAL SAMPLE PREWHERE SETTINGS FORMAT INTO FILTER EXISTS'
  ).split(' '),
);

// Unsupported syntax of ClickHouse or other SQL dialects, and the alternative.
const advice: Record<string, string | undefined> = {
  SETTINGS:
    'SETTINGS is not part of the language, except SETTINGS native_types = 1 at the end of ' +
    'the query: the server sets the limits of a query. Remove it.',
  FORMAT:
    'FORMAT is not part of the language: the destination of the export has a format. Remove it.',
  INTO:
    'INTO is not part of the language: the destination of the export takes the rows. ' +
    'Remove it.',
  FINAL:
    'FINAL is not part of the language and not needed: events are stored once, persons are ' +
    'read in their latest version. Remove it.',
  SAMPLE: 'SAMPLE is not part of the language: an export reads every row. Filter with WHERE.',
  PREWHERE:
    'PREWHERE is not part of the language: write WHERE, the store chooses what it reads first.',
  ARRAY: 'ARRAY JOIN is not part of the language: write arrayJoin(...) in the SELECT list.',
  GLOBAL: 'GLOBAL is not part of the language: remove the word.',
  ANY:
    'ANY is not part of the language: it may choose another row each time. Use an aggregate in a ' +
    'subquery.',
  ASOF: 'ASOF is not part of the language: use argMax in a subquery.',
  SEMI: 'SEMI is not part of the language: write x IN (SELECT ...).',
  ANTI: 'ANTI is not part of the language: write x NOT IN (SELECT ...).',
  INTERSECT: 'INTERSECT is not part of the language: write x IN (SELECT ...).',
  EXCEPT:
    'EXCEPT is not part of the language: write x NOT IN (SELECT ...), or name the columns ' +
    'instead of *.',
  EXISTS: 'EXISTS is not part of the language: write x IN (SELECT ...).',
  COHORT: 'The language has no cohorts: compare the properties of the person.',
  IN: 'IN follows a value: write x IN (a, b), or has(array, x).',
  LIKE: 'LIKE goes between a text and its pattern: write x LIKE pattern.',
  ILIKE: 'ILIKE goes between a text and its pattern: write x ILIKE pattern.',
  ';': 'A query is one SELECT: remove the ; and what follows it.',
  '?': 'The operator ? is not part of the language: write if(condition, a, b), or a ?? b for NULL.',
};

// Words of the language that are functions before a bracket.
const callable = new Set(['AND', 'OR', 'LEFT', 'RIGHT', 'FORMAT', 'ARRAY', 'ANY']);

/** Returns true if the unquoted text can name a function before a bracket. */
export function isPlainFunctionName(text: string): boolean {
  return isPlainName(text) || callable.has(text.toUpperCase());
}

/** Returns true if the unquoted text can be a name. */
export function isPlainName(text: string): boolean {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(text) && !reserved.has(text.toUpperCase());
}

/**
 * Reads a text's tokens from left to right. Every `expect` and `fail` throws a `Fault` at the
 * present token.
 */
export class Cursor {
  private readonly tokens: Token[];
  private index = 0;
  private depth = 0;
  private nodes = 0;

  constructor(text: string) {
    this.tokens = tokenize(text);
  }

  /** Returns the present token, or the one `ahead` of it; after the last there is only the end. */
  peek(ahead = 0): Token {
    return this.tokens[Math.min(this.index + ahead, this.tokens.length - 1)]!;
  }

  /** Returns the end of the last consumed token. */
  get end(): number {
    return this.tokens[Math.max(this.index - 1, 0)]!.end;
  }

  /** Consumes the present token. */
  next(): Token {
    const token = this.peek();
    if (token.kind !== 'end') this.index += 1;
    return token;
  }

  /** Returns true if the token `ahead` is this keyword, in any case. */
  isWord(keyword: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return (
      token.kind === 'word' &&
      token.value.length === keyword.length &&
      token.value.toUpperCase() === keyword
    );
  }

  /** Returns true if the token `ahead` is this sign. */
  isSign(sign: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.kind === 'sign' && token.value === sign;
  }

  /** Consumes these keywords if they all come next. */
  acceptWords(...keywords: string[]): boolean {
    if (!keywords.every((keyword, ahead) => this.isWord(keyword, ahead))) return false;
    this.index += keywords.length;
    return true;
  }

  acceptSign(sign: string): boolean {
    if (!this.isSign(sign)) return false;
    this.index += 1;
    return true;
  }

  expectWord(keyword: string): void {
    if (!this.acceptWords(keyword)) this.fail(`Write ${keyword} here.`);
  }

  expectSign(sign: string): void {
    if (!this.acceptSign(sign)) this.fail(`Write ${sign} here.`);
  }

  /** Returns true if the token `ahead` can be an unquoted name. */
  isName(ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.kind === 'quoted' || (token.kind === 'word' && isPlainName(token.value));
  }

  /** Consumes a name; `what` describes it for the error, as in "a table". */
  name(what: string): Name {
    if (!this.isName())
      this.fail(`Write the name of ${what} here; put words of the language in backticks.`);
    const { value, start, end } = this.next();
    return { text: value, start, end };
  }

  /**
   * Returns true if a call begins here, also of a function that is named like a word of the
   * language.
   */
  isCall(): boolean {
    const { kind, value } = this.peek();
    return (
      this.isSign('(', 1) && (kind === 'quoted' || (kind === 'word' && isPlainFunctionName(value)))
    );
  }

  /**
   * Consumes a name at a place where words of the language are names too, as in `properties.from`.
   */
  anyName(): Name {
    const { kind, value, start, end } = this.peek();
    if (kind !== 'word' && kind !== 'quoted')
      this.fail(
        'Write a name here; put names with other signs than letters, digits and _ in ' +
          'backticks, not in single quotes.',
      );
    this.next();
    return { text: value, start, end };
  }

  /** Runs `read` one level deeper. */
  deeper<Result>(read: () => Result): Result {
    this.depth += 1;
    if (this.depth > depth_max)
      this.fault(`The query is nested more than ${depth_max} levels deep: split it with WITH.`);
    const result = read();
    this.depth -= 1;
    return result;
  }

  /** Returns the span of a new node, from `start` to the last consumed token; counts the node. */
  since(start: number): Span {
    this.nodes += 1;
    if (this.nodes > nodes_max)
      this.fault(`The query has more than ${nodes_max} parts: shorten it.`);
    return { start, end: this.end };
  }

  /** Throws at the present token: the advice for its word, or else `message`. */
  fail(message: string): never {
    const token = this.peek();
    const known =
      token.kind === 'word' || token.kind === 'sign'
        ? advice[token.value.toUpperCase()]
        : undefined;
    if (known !== undefined) this.fault(known);
    this.fault(token.kind === 'end' ? `The query ends too early. ${message}` : message);
  }

  private fault(message: string): never {
    throw new Fault(message, this.peek());
  }
}
