import { askServer } from './ask.ts';
import type { Asked } from './ask.ts';
import { refusalOf } from './refusal.ts';
import { getTarget } from './target.ts';
import type { Target, TargetFlags } from './target.ts';

/** A page of a list. */
export type Page<Row> = { count?: number; next: string | null; results: Row[] };

/** Options of a request beside its path. */
type Options = Omit<Asked, 'path' | 'method'> & {
  query?: Record<string, string | number | undefined>;
};

/** The API of a server, as a command calls it. */
export type Api = {
  target: Target;
  get<Answer>(path: string, options?: Options): Promise<Answer>;
  post<Answer>(path: string, body?: unknown): Promise<Answer>;
  /** Returns rows of a list, page after page, at most `limit`. */
  list<Row>(path: string, limit: number, query?: Options['query']): Promise<Row[]>;
};

const page_rows = 100;

/**
 * Opens the API of the server that the flags select. Each call returns the answer, or throws the
 * error with the server's reason.
 */
export function openApi(flags: TargetFlags): Api {
  const target = getTarget(flags);
  const ask = async <Answer>(method: string, path: string, options: Options = {}) => {
    const { query = {}, ...rest } = options;
    const answer = await askServer(target, { method, path: withQuery(path, query), ...rest });
    const refusal = refusalOf(answer, target.address);
    if (refusal !== undefined) throw refusal;
    return answer.body as Answer;
  };
  return {
    target,
    get: (path, options) => ask('GET', path, options),
    post: (path, body = {}) => ask('POST', path, { body }),
    list: async <Row>(path: string, limit: number, query = {}) => {
      const rows: Row[] = [];
      let next: string | null = withQuery(path, { ...query, limit: Math.min(limit, page_rows) });
      while (next !== null && rows.length < limit) {
        const page: Page<Row> = await ask('GET', next);
        rows.push(...page.results);
        next = page.next === null ? null : ownPath(page.next, target.address);
      }
      return rows.slice(0, limit);
    },
  };
}

/** Returns the path of the next page, because the server may know itself by another address. */
function ownPath(url: string, address: string): string {
  const { pathname, search } = new URL(url, address);
  return `${pathname.slice(pathname.indexOf('/api/'))}${search}`;
}

/** Returns a path with query parameters, without undefined ones. */
export function withQuery(path: string, query: NonNullable<Options['query']>): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  if (given.length === 0) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(given).toString()}`;
}
