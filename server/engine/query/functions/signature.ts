/**
 * The form of a type: a kind or class by its name, or a container of forms. `never_null` and
 * `always_null` override the result of the arguments.
 */
export type Form = { name: string; items: Form[]; never_null: boolean; always_null: boolean };

/** One parameter: its form, and whether it is optional or repeated. */
export type Parameter = { form: Form; optional: boolean; repeated: boolean };

/**
 * A parsed signature. `levels` is the number of values in separate brackets before the arguments:
 * `quantile(0.9)(x)`.
 */
export type Signature = { levels: 'none' | 'one' | 'many'; parameters: Parameter[]; result: Form };

const token = /\.\.\.|->|[A-Za-z_#][\w]*|[()[\]{}:,?!|]/g;

/**
 * Reads signatures as the allow-list writes them: `(text, #integer?) -> text | ([T]...) -> [T]`.
 * Letters are types that the arguments determine (`N` is a number). `[T]` is an array, `(T, U)` a
 * tuple, `{K:V}` a map and `#` a literal. `?` means optional (for a result: may be NULL), `!` never
 * NULL and `...` repeated. Throws for anything else: the list is part of the program.
 */
export function readSignatures(text: string): Signature[] {
  const words = text.match(token) ?? [];
  let position = 0;
  const accept = (word: string): boolean => {
    if (words[position] !== word) return false;
    position += 1;
    return true;
  };
  const expect = (word: string): void => {
    if (!accept(word))
      throw new Error(`A signature of the query language is broken at ${words[position]}: ${text}`);
  };
  const forms = (close: string, between = ','): Form[] => {
    const items: Form[] = [];
    if (accept(close)) return items;
    do items.push(form());
    while (accept(between));
    expect(close);
    return items;
  };
  const form = (): Form => {
    let read: Form;
    if (accept('[')) read = container('array', forms(']'));
    else if (accept('(')) read = container('tuple', forms(')'));
    else if (accept('{')) read = container('map', forms('}', ':'));
    else read = container(words[position++] ?? '', []);
    return read;
  };
  const parameters = (): Parameter[] => {
    const read: Parameter[] = [];
    expect('(');
    if (accept(')')) return read;
    do {
      const taken = form();
      const repeated = accept('...');
      read.push({ form: taken, repeated, optional: accept('?') });
    } while (accept(','));
    expect(')');
    return read;
  };
  const signatures: Signature[] = [];
  do {
    const levels = accept('#level') ? (accept('...') ? 'many' : 'one') : 'none';
    const taken = parameters();
    expect('->');
    const result = form();
    signatures.push({
      levels,
      parameters: taken,
      result: { ...result, never_null: accept('!'), always_null: accept('?') },
    });
  } while (accept('|'));
  return signatures;
}

function container(name: string, items: Form[]): Form {
  return { name, items, never_null: false, always_null: false };
}
