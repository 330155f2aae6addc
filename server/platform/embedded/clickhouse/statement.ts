/**
 * The parts of a request's text, so that its result can be sent into a pipe and its data read from
 * one. `read`: SQL before and after the place of `INTO OUTFILE ... FORMAT x`. `insert`: SQL before
 * and after the place of `FROM INFILE`, and the position of its data. `command`: a statement with a
 * small answer or none.
 */
export type Statement =
  | { kind: 'read'; before: string; format: string | undefined; after: string }
  | { kind: 'insert'; before: string; after: string; format: string; data_from: number }
  | { kind: 'command'; text: string; format: string | undefined }
  | { kind: 'refused'; reason: string };

type Token = {
  kind: 'word' | 'other' | 'stop';
  text: string;
  from: number;
  to: number;
  depth: number;
};

const blank = /(?:[ \t\r\n\f\v]+|--[^\n]*(?:\n|$)|#[ !][^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/y;
// In hexadecimal and binary literals, unlike strings, a backslash does not escape: `x'\'` is
// complete.
const literal =
  /[xXbB]'[^']*'|'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*'|"[^"\\]*(?:(?:\\[\s\S]|"")[^"\\]*)*"|`[^`\\]*(?:(?:\\[\s\S]|``)[^`\\]*)*`/y;
const heredoc = /\$(\w*)\$[\s\S]*?\$\1\$/y;
const word = /[A-Za-z_][\w$]*/y;
const plain = /[0-9][\w.]*|[()[\]{},.;:+\-*/%=<>!?|^&~@\\]/y;

const commands = new Set([
  'CREATE',
  'ALTER',
  'DROP',
  'UNDROP',
  'RENAME',
  'EXCHANGE',
  'TRUNCATE',
  'OPTIMIZE',
  'SYSTEM',
  'SET',
  'USE',
  'KILL',
  'GRANT',
  'REVOKE',
  'ATTACH',
  'DETACH',
  'DELETE',
  'UPDATE',
  'CHECK',
  'SHOW',
  'DESCRIBE',
  'DESC',
  'EXISTS',
  'EXPLAIN',
  'REPLACE',
  'BACKUP',
  'RESTORE',
  'MOVE',
]);
const reads = new Set(['SELECT', 'WITH', 'FROM', '(']);

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

/**
 * Yields ClickHouse's tokens one at a time, so that the data of an insert are never read as SQL.
 * Ends with a `stop` token at text that is no SQL.
 */
function* tokenize(text: string): Generator<Token> {
  let depth = 0;
  for (let at = 0; at < text.length;) {
    const skipped = matchAt(blank, text, at);
    if (skipped) {
      at += skipped[0].length;
      continue;
    }
    const [found, kind] = findToken(text, at);
    if (found === undefined) {
      yield { kind: 'stop', text: text.slice(at, at + 20), from: at, to: at, depth };
      return;
    }
    if (found === ')' || found === ']' || found === '}') depth -= 1;
    yield {
      kind,
      text: kind === 'word' ? found.toUpperCase() : found,
      from: at,
      to: at + found.length,
      depth,
    };
    if (found === '(' || found === '[' || found === '{') depth += 1;
    at += found.length;
  }
}

function findToken(text: string, at: number): [string | undefined, Token['kind']] {
  const other = matchAt(literal, text, at) ?? matchAt(heredoc, text, at);
  if (other) return [other[0], 'other'];
  const name = matchAt(word, text, at);
  if (name) return [name[0], 'word'];
  return [matchAt(plain, text, at)?.[0], 'other'];
}

const refused = (reason: string): Statement => ({ kind: 'refused', reason });

/**
 * Determines the kind of a request's text without running it. A sentence refuses more than one
 * statement, a file of the server (`INTO OUTFILE`, `FROM INFILE`) and unintelligible text.
 */
export function readStatement(text: string): Statement {
  const tokens: Token[] = [];
  let end: number | undefined;
  let data: { format: string; cut: number; data_from: number } | undefined;
  for (const token of tokenize(text)) {
    if (token.kind === 'stop')
      return refused(
        `The text at position ${token.from + 1} is not SQL that this server reads: ${token.text}`,
      );
    if (end !== undefined) return refused('Only one statement is allowed in a request.');
    if (token.text === ';') {
      end = token.from;
      continue;
    }
    const last = tokens.at(-1);
    if (token.text === 'OUTFILE' && last?.text === 'INTO')
      return refused('INTO OUTFILE is not available: read the result from the answer.');
    if (token.text === 'INFILE' && last?.text === 'FROM')
      return refused('FROM INFILE is not available: send the data as the body of the request.');
    tokens.push(token);
    data = findInsertData(text, tokens);
    if (data) break;
  }
  const [first] = tokens;
  if (!first) return refused('The request holds no statement.');
  if (data)
    return {
      kind: 'insert',
      before: text.slice(0, data.cut),
      after: settingsBefore(tokens, text, data.cut),
      format: data.format,
      data_from: data.data_from,
    };
  const whole = text.slice(0, end ?? text.length);
  return classify(whole, tokens, first);
}

function classify(whole: string, tokens: Token[], first: Token): Statement {
  const keyword = first.text;
  const isInsertSelect =
    keyword === 'INSERT' ||
    (keyword === 'WITH' &&
      tokens.some(
        (token) => token.text === 'INSERT' && token.kind === 'word' && token.depth === 0,
      ));
  if (isInsertSelect) return { kind: 'command', text: whole, format: undefined };
  if (reads.has(keyword)) return { kind: 'read', ...splitFormat(whole, tokens) };
  if (keyword === 'SYSTEM' && /^(SHUTDOWN|KILL|SUSPEND)$/.test(tokens[1]?.text ?? ''))
    return refused(
      `SYSTEM ${tokens[1]?.text} is not available: the process belongs to the server that ` +
        'started it.',
    );
  if (first.kind === 'word' && commands.has(keyword)) {
    // EXPLAIN AST and the like would take a FORMAT as part of the explained query, so it is
    // returned separately.
    const { before, format, after } = splitFormat(whole, tokens);
    return { kind: 'command', text: before + after, format };
  }
  return refused(
    `A statement cannot begin with ${whole.slice(first.from, first.to).slice(0, 40)}.`,
  );
}

/**
 * `FORMAT x` counts if nothing or only SETTINGS follows it outside brackets; elsewhere it is a
 * name.
 */
function splitFormat(
  whole: string,
  tokens: Token[],
): { before: string; format: string | undefined; after: string } {
  const at = tokens.findLastIndex(
    (token, index) =>
      token.text === 'FORMAT' &&
      token.kind === 'word' &&
      token.depth === 0 &&
      index > 0 &&
      tokens[index + 1]?.kind === 'word' &&
      (tokens[index + 2] === undefined || tokens[index + 2]?.text === 'SETTINGS'),
  );
  const [keyword, name] = [tokens[at], tokens[at + 1]];
  if (at < 0 || !keyword || !name) return { before: whole, format: undefined, after: '' };
  return {
    before: whole.slice(0, keyword.from),
    format: whole.slice(name.from, name.to),
    after: whole.slice(name.to),
  };
}

/** Returns the end of an insert's SQL once the tokens contain it; the data follow. */
function findInsertData(
  text: string,
  tokens: Token[],
): { format: string; cut: number; data_from: number } | undefined {
  const last = tokens.at(-1);
  const before = tokens.at(-2);
  if (
    tokens[0]?.text !== 'INSERT' ||
    tokens.length < 3 ||
    !last ||
    last.depth !== 0 ||
    last.kind !== 'word'
  )
    return undefined;
  // After the table or its columns, a SELECT makes it a statement without data.
  if (
    tokens
      .slice(2)
      .some(
        (token) =>
          token.kind === 'word' &&
          token.depth <= 1 &&
          (token.text === 'SELECT' || token.text === 'WITH'),
      )
  )
    return undefined;
  const isName =
    before?.text === 'INTO' ||
    before?.text === 'TABLE' ||
    before?.text === 'FUNCTION' ||
    before?.text === '.';
  if (last.text === 'VALUES' && !isName)
    return { format: 'Values', cut: settingsFrom(tokens) ?? last.from, data_from: last.to };
  const beforeFormat = tokens.at(-3)?.text;
  if (
    before?.text !== 'FORMAT' ||
    before.kind !== 'word' ||
    before.depth !== 0 ||
    beforeFormat === 'INTO' ||
    beforeFormat === 'TABLE' ||
    beforeFormat === '.'
  )
    return undefined;
  // As in ClickHouse, the blanks up to and including the first line end belong to the SQL.
  const [gap = ''] = /^[ \t\r\f\v]*\n?/.exec(text.slice(last.to, last.to + 4096)) ?? [];
  return {
    format: text.slice(last.from, last.to),
    cut: settingsFrom(tokens) ?? before.from,
    data_from: last.to + gap.length,
  };
}

function settingsFrom(tokens: Token[]): number | undefined {
  return tokens.find(
    (token, index) =>
      index > 2 && token.text === 'SETTINGS' && token.kind === 'word' && token.depth === 0,
  )?.from;
}

function settingsBefore(tokens: Token[], text: string, cut: number): string {
  const end = tokens.findLast(
    (token) => token.depth === 0 && (token.text === 'FORMAT' || token.text === 'VALUES'),
  );
  return text.slice(cut, end?.from ?? cut);
}
