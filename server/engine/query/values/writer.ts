import type { Span } from '../query_error.ts';

/** Contents of placeholders by their names, as the client of ClickHouse takes them. */
export type QueryParameters = Record<string, string | number | string[]>;

/** ClickHouse's types of literals. */
export type LiteralType =
  | 'String'
  | 'Int64'
  | 'UInt64'
  | 'Float64'
  | 'UUID'
  | 'Date32'
  | "DateTime64(6, 'UTC')";

/**
 * Gives out the names and parameters of one printed query. Guarantee: no name that it gives can be
 * a name of the query's author, of a column of the store or of a function; no content of a literal
 * ever becomes part of the text.
 */
export class QueryWriter {
  private readonly parameters = new Map<string, string>();
  private readonly content = new Map<string, string | string[]>();
  private names = 0;
  /** The placeholders of regular expressions, with where they stand in the query. */
  readonly patterns: { placeholder: string; span: Span }[] = [];

  /** A name that is used nowhere else in this query. */
  name(prefix: 't' | 'c' | 'l'): string {
    const name = `${prefix}${this.names}`;
    this.names += 1;
    return name;
  }

  /** A placeholder for the content, the same one whenever both are the same. */
  parameter(type: LiteralType, content: string): string {
    return this.bind(type, content);
  }

  /** A placeholder for a regular expression. */
  pattern(content: string, span: Span): string {
    const placeholder = this.bind('String', content);
    this.patterns.push({ placeholder, span: { start: span.start, end: span.end } });
    return placeholder;
  }

  /** A placeholder for a list of contents. */
  list(type: LiteralType, contents: string[]): string {
    const isNumber = type === 'Int64' || type === 'UInt64' || type === 'Float64';
    // The client puts texts of a list into quotes, which ClickHouse takes for no number.
    return this.bind(`Array(${type})`, isNumber ? `[${contents.join(',')}]` : contents);
  }

  private bind(type: string, content: string | string[]): string {
    const key =
      typeof content === 'string' ? `${type} ${content}` : JSON.stringify([type, content]);
    const known = this.parameters.get(key);
    if (known !== undefined) return known;
    const name = `p${this.content.size}`;
    const placeholder = `{${name}:${type}}`;
    this.parameters.set(key, placeholder);
    this.content.set(name, content);
    return placeholder;
  }

  /** The contents of the placeholders that stand in the text. */
  parametersOf(text: string): QueryParameters {
    const used = new Set(Array.from(text.matchAll(/\{(p\d+):/g), ([, name]) => name!));
    return Object.fromEntries([...this.content].filter(([name]) => used.has(name)));
  }
}
