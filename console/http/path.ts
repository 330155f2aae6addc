import type { Operations } from '../operations.ts';

/** A method of the API. */
export type Method = Change | 'GET';
/** A method that changes something. */
export type Change = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The routes with the method, with `:name` for each parameter. */
export type Route<Asked extends Method = Method> = Of<keyof Operations, Asked>;
type Of<Key, Asked extends Method> = Key extends `${Asked} ${infer Found}` ? Found : never;

type Operation<Asked extends Method, To extends Route> = Operations[Extract<
  keyof Operations,
  `${Asked} ${To}`
>];
/** The body that the operation accepts; an empty object if it has none. */
export type Body<Asked extends Method, To extends Route> = BodyOf<Operation<Asked, To>[1]>;
type BodyOf<Declared> = Declared extends undefined ? Record<string, never> : Declared;
/** The body of the operation's answer. */
export type Answer<Asked extends Method, To extends Route> = Operation<Asked, To>[2];

/** The names of the parameters in a route. */
type Names<To extends string> = To extends `${infer Part}/${infer Rest}`
  ? Names<Part> | Names<Rest>
  : To extends `:${infer Name}`
    ? Name
    : never;
type Parameters<To extends string> = { [Name in Names<To>]: string | number };
/** The query of the route. */
export type Query<To extends Route> = NonNullable<Operation<Method, To>[0]>;

declare const route: unique symbol;
/** A path of the API with its parameters and query; its type has the route. */
export type Path<To extends Route = Route> = string & { readonly [route]: To };

/**
 * Fills in a route of the API: encodes parameters, and leaves out undefined parts of the query. All
 * paths are made here.
 */
export function pathTo<const To extends Route>(
  to: To,
  ...[parameters, query]: [Names<To>] extends [never]
    ? [parameters?: Record<string, never>, query?: Query<To>]
    : [parameters: Parameters<To>, query?: Query<To>]
): Path<To> {
  const values = parameters as Record<string, string | number> | undefined;
  // A path may contain `@` unencoded: `@me`.
  const path = to.replaceAll(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(String(values?.[name])).replaceAll('%40', '@'),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {}))
    for (const one of [value].flat()) if (one !== undefined) search.append(name, String(one));
  return (search.size === 0 ? path : `${path}?${search.toString()}`) as Path<To>;
}

/** Returns the path of an API link to another page of a list. */
export function pathOfLink<To extends Route>(link: string): Path<To> {
  const { pathname, search } = new URL(link);
  return (pathname.slice(pathname.indexOf('/api/')) + search) as Path<To>;
}
