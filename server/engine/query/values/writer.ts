import type { Span } from '../query_error.ts';

/** Contents of placeholders by their names, as ClickHouse's client accepts them. */
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
 * Creates the names and parameters of one printed query. Guarantee: its names never equal a name of
 * the query's author, of a column of the store or of a function. The content of a literal never
 * becomes part of the text.
 */
export class QueryWriter {
  private readonly parameters = new Map<string, string>();
  private readonly content = new Map<string, string | string[]>();
  private names = 0;
  /** The placeholders of regular expressions, with their places in the query. */
  readonly patterns: { placeholder: string; span: Span }[] = [];

  /** Returns a name that is unique in this query. */
  name(prefix: 't' | 'c' | 'l'): string {
    const name = `${prefix}${this.names}`;
    this.names += 1;
    return name;
  }

  /** Returns a placeholder for the content; equal types and contents share one. */
  parameter(type: LiteralType, content: string): string {
    return this.bind(type, content);
  }

  /** Returns a placeholder for a regular expression. */
  pattern(content: string, span: Span): string {
    const placeholder = this.bind('String', content);
    this.patterns.push({ placeholder, span: { start: span.start, end: span.end } });
    return placeholder;
  }

  /** Returns a placeholder for a list of contents. */
  list(type: LiteralType, contents: string[]): string {
    const isNumber = type === 'Int64' || type === 'UInt64' || type === 'Float64';
    // The client quotes texts of a list, which ClickHouse does not accept as numbers.
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

  /** Returns the contents of the placeholders in the text. */
  parametersOf(text: string): QueryParameters {
    const used = new Set(Array.from(text.matchAll(/\{(p\d+):/g), ([, name]) => name!));
    return Object.fromEntries([...this.content].filter(([name]) => used.has(name)));
  }
}
