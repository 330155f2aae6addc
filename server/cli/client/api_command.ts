import { isFields } from '../../platform/fields.ts';
import { parseJson } from '../../platform/json/parse_json.ts';
import { WrongUsageError } from '../user_error.ts';
import { withQuery } from './api.ts';
import { askServer } from './ask.ts';
import { printJson } from './print.ts';
import type { Output } from './print.ts';
import { readContent, readPair } from './read_options.ts';
import { refusalOf } from './refusal.ts';
import { getTarget } from './target.ts';
import type { TargetFlags } from './target.ts';

type ApiFlags = TargetFlags & {
  method?: string;
  field?: string[];
  typed?: string[];
  header?: string[];
  input?: string;
};

/**
 * `sluice api`: calls any route and prints the answer, also a refusal. Fields are the query of a
 * GET, otherwise the body; with fields, the default method is POST.
 */
export async function apiCommand(
  output: Output,
  path: string | undefined,
  flags: ApiFlags,
): Promise<number> {
  if (path === undefined) throw new WrongUsageError('Name a route, such as `sluice api projects`.');
  const target = getTarget(flags);
  const fields = fieldsOf(flags);
  const hasFields = Object.keys(fields).length > 0;
  if (hasFields && flags.input !== undefined)
    throw new WrongUsageError('--input is the whole body: use either --input or fields.');
  const isSending = hasFields || flags.input !== undefined;
  const method = (flags.method ?? (isSending ? 'POST' : 'GET')).toUpperCase();
  const isReading = method === 'GET' || method === 'HEAD';
  const body = isReading ? undefined : hasFields ? fields : bodyOf(flags.input);
  const headers = (flags.header ?? []).map((text) => {
    const at = text.indexOf(':');
    if (at < 1) throw new WrongUsageError(`--header takes "Name: value", not "${text}".`);
    return [text.slice(0, at).trim().toLowerCase(), text.slice(at + 1).trim()] as const;
  });
  const query = isReading ? Object.fromEntries(Object.entries(fields).map(queryPart)) : {};
  const answer = await askServer(target, {
    method,
    path: withQuery(apiPath(path, target.project), query),
    ...(body === undefined ? {} : { body }),
    headers: Object.fromEntries(headers),
  });
  if (answer.body !== undefined) printJson(output, answer.body);
  else if (answer.text !== '') output.write(answer.text);
  const refusal = answer.status < 300 ? undefined : refusalOf(answer, target.address);
  if (refusal !== undefined) throw refusal;
  return 0;
}

/**
 * Returns the path of a route that people type without `/api/` and without the slash at its end;
 * `{project}` is replaced by the selected project.
 */
function apiPath(text: string, project: string): string {
  const [path = '', ...query] = text.replaceAll('{project}', project).split('?');
  const inner = path.replace(/^\/+/, '').replace(/^api\//, '');
  const whole = `/api/${inner}`.replace(/\/*$/, '/');
  return query.length === 0 ? whole : `${whole}?${query.join('?')}`;
}

function fieldsOf({ field = [], typed = [] }: ApiFlags): Record<string, unknown> {
  const texts = field.map((pair) => readPair('--field', pair));
  const values = typed.map((pair): [string, unknown] => {
    const [name, text] = readPair('--typed', pair);
    if (text.startsWith('@')) return [name, readContent(`--typed ${name}`, text.slice(1))];
    return [name, parseJson(text) ?? (text === 'null' ? null : text)];
  });
  return nested([...texts, ...values]);
}

/** Turns fields with dots in their names into objects: `destination.type=S3`. */
function nested(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const root: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [path, value] of entries) {
    const steps = path.split('.');
    const last = steps.pop()!;
    let at = root;
    for (const step of steps) {
      const inner = at[step];
      const next = isFields(inner) ? inner : (Object.create(null) as Record<string, unknown>);
      at[step] = next;
      at = next;
    }
    at[last] = value;
  }
  return root;
}

function queryPart([name, value]: [string, unknown]): [string, string] {
  return [name, typeof value === 'string' ? value : JSON.stringify(value)];
}

function bodyOf(file: string | undefined): unknown {
  if (file === undefined) return undefined;
  const read = parseJson(readContent('--input', file));
  if (read === undefined) throw new WrongUsageError(`--input: ${file} is not JSON.`);
  return read;
}
