import { compute, fromText } from './bridge.ts';
import { URLSearchParams } from './url_search.ts';

type Part =
  | 'href'
  | 'protocol'
  | 'username'
  | 'password'
  | 'host'
  | 'hostname'
  | 'port'
  | 'pathname'
  | 'search'
  | 'hash';
type Parts = Record<Part | 'origin', string>;

/**
 * The standard's URL: the process around the isolate, which has the real one, parses and prints it.
 */
export class URL {
  #parts: Parts;
  #query: URLSearchParams | undefined;

  constructor(url: string | URL, base: string | URL = '') {
    this.#parts = fromText(compute('read_url', String(url), String(base))) as Parts;
  }

  static canParse(url: string | URL, base?: string | URL): boolean {
    try {
      return new URL(url, base) instanceof URL;
    } catch {
      return false;
    }
  }

  get origin(): string {
    return this.#parts.origin;
  }
  get searchParams(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.#parts.search, (text) => this.#write('search', text));
    return this.#query;
  }
  toString(): string {
    return this.#parts.href;
  }
  toJSON(): string {
    return this.#parts.href;
  }

  static {
    // One getter and one setter for each part, so that this file does not repeat itself ten times.
    const parts: Part[] = [
      'href',
      'protocol',
      'username',
      'password',
      'host',
      'hostname',
      'port',
      'pathname',
      'search',
      'hash',
    ];
    for (const part of parts) {
      Object.defineProperty(URL.prototype, part, {
        get(this: URL) {
          return this.#parts[part];
        },
        set(this: URL, value: unknown) {
          this.#write(part, String(value));
          if (part === 'search' || part === 'href') this.#query = undefined;
        },
      });
    }
  }

  #write(part: Part, value: string): void {
    this.#parts = fromText(compute('write_url', this.#parts.href, part, value)) as Parts;
  }
}
