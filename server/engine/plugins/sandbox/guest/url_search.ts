import { compute, fromText, toText } from './bridge.ts';

type Pairs = [string, string][];
type Source = string | Iterable<[string, string]> | Record<string, unknown> | undefined;

/** The standard's URLSearchParams. `changed`, if given, is called for each change. */
export class URLSearchParams {
  #pairs: Pairs;
  #changed: (text: string) => void;

  constructor(source?: Source, changed: (text: string) => void = () => {}) {
    this.#pairs = read(source);
    this.#changed = changed;
  }

  get size(): number {
    return this.#pairs.length;
  }
  append(name: unknown, value: unknown): void {
    this.#replace([...this.#pairs, [String(name), String(value)]]);
  }
  delete(name: string): void {
    this.#replace(this.#pairs.filter(([key]) => key !== name));
  }
  get(name: string): string | null {
    return this.#pairs.find(([key]) => key === name)?.[1] ?? null;
  }
  getAll(name: string): string[] {
    return this.#pairs.filter(([key]) => key === name).map(([, value]) => value);
  }
  has(name: string): boolean {
    return this.#pairs.some(([key]) => key === name);
  }
  set(name: string, value: unknown): void {
    const at = this.#pairs.findIndex(([key]) => key === name);
    if (at === -1) this.append(name, value);
    else
      this.#replace([
        ...this.#pairs.slice(0, at),
        [name, String(value)],
        ...this.#pairs.slice(at + 1).filter(([key]) => key !== name),
      ]);
  }
  sort(): void {
    this.#replace([...this.#pairs].sort(([a], [b]) => (a < b ? -1 : Number(a > b))));
  }
  forEach(callback: (value: string, name: string, parameters: URLSearchParams) => void): void {
    for (const [name, value] of this.#pairs) callback(value, name, this);
  }
  keys(): IterableIterator<string> {
    return this.#pairs.map(([name]) => name).values();
  }
  values(): IterableIterator<string> {
    return this.#pairs.map(([, value]) => value).values();
  }
  entries(): IterableIterator<[string, string]> {
    return this.#pairs.map(([name, value]): [string, string] => [name, value]).values();
  }
  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }
  toString(): string {
    return compute('write_query', toText(this.#pairs));
  }

  #replace(pairs: Pairs): void {
    this.#pairs = pairs;
    this.#changed(this.toString());
  }
}

function read(source: Source): Pairs {
  if (source === undefined || typeof source === 'string')
    return fromText(compute('read_query', source ?? '')) as Pairs;
  const pairs: unknown[][] =
    Symbol.iterator in source
      ? [...(source as Iterable<[string, string]>)]
      : Object.entries(source);
  return pairs.map(([name, value]) => [String(name), String(value)]);
}
