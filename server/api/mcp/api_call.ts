/** A tool's request to the API: a path, and the fields of the query or the body. */
export type ApiAsked = {
  method: 'GET' | 'POST';
  path: string;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
};

/** The answer of the API; `body` is the parsed JSON, whatever the status. */
export type ApiAnswer = { status: number; body: unknown };

/**
 * The only access of a tool to the server: one request to the public API with the caller's key,
 * marked as an agent's request. Rejects with `UnreachableError` if there is no answer.
 */
export type ApiCall = (asked: ApiAsked) => Promise<ApiAnswer>;

/** There was no answer. The message is for the agent and names only the address. */
export class UnreachableError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnreachableError';
  }
}

/** The API refused; `body` is its problem+json. */
export class RefusedError extends Error {
  readonly status: number;
  readonly body: unknown;
  /** The sentence of the refusal. */
  readonly detail: string;
  constructor({ status, body }: ApiAnswer) {
    super(`The API answered ${status}.`);
    this.name = 'RefusedError';
    this.status = status;
    this.body = body;
    const { detail } = (body ?? {}) as { detail?: unknown };
    this.detail = typeof detail === 'string' ? detail : this.message;
  }
}

/** A record of the API, whose fields are checked where they are used. */
export type ApiRecord = Record<string, unknown>;

/** Returns the body of a GET; throws `RefusedError` for any status but 2xx. */
export function read(
  api: ApiCall,
  path: string,
  query: NonNullable<ApiAsked['query']> = {},
): Promise<ApiRecord> {
  return ask(api, { method: 'GET', path, query });
}

/** Returns the record of the caller's key, which belongs to a person or an organization. */
export async function readKey(api: ApiCall): Promise<ApiRecord> {
  const personal = await api({ method: 'GET', path: '/api/personal_api_keys/@current/' });
  if (personal.status === 404) return read(api, '/api/service_keys/@current/');
  if (personal.status >= 300) throw new RefusedError(personal);
  return personal.body as ApiRecord;
}

/** Returns the body of any request; throws `RefusedError` for any status but 2xx. */
export async function ask(api: ApiCall, asked: ApiAsked): Promise<ApiRecord> {
  const answer = await api(asked);
  if (answer.status >= 300) throw new RefusedError(answer);
  return answer.body as ApiRecord;
}

/** Returns the path with its query, for both ways to the API. */
export function urlOf({ path, query = {} }: ApiAsked): string {
  const sent = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(sent.map(([name, value]) => [name, String(value)]));
  return search.size === 0 ? path : `${path}?${search.toString()}`;
}

/** Returns the named fields of a record in that order, without missing ones. */
export function pick(record: unknown, names: readonly string[]): ApiRecord {
  const fields = (record ?? {}) as ApiRecord;
  return Object.fromEntries(
    names.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]),
  );
}

/** Returns the entries of a list's `results`, or of another field of the answer. */
export function entriesOf(answer: ApiRecord, name = 'results'): ApiRecord[] {
  const entries = answer[name];
  return Array.isArray(entries) ? (entries as ApiRecord[]) : [];
}

/** Returns the cursor of the next page; undefined on the last page. */
export function nextCursor({ next }: ApiRecord): string | undefined {
  if (typeof next !== 'string' || !URL.canParse(next)) return undefined;
  return new URL(next).searchParams.get('cursor') ?? undefined;
}
