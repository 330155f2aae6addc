import type { ToolOutcome } from '../tool_outcome.ts';
import type { Seen } from './way_out.ts';

/** The question for the choices of a field: `payload` has the values of the mapping so far. */
export type Asking = {
  settings: { oauth?: { access_token?: string } } & Record<string, unknown>;
  action: string;
  field: string;
  payload: object;
  page: string | null;
};

/** The answer of a function that gives choices, which may be anything. */
type Answer = { choices?: unknown; nextPage?: unknown; error?: { message?: unknown } };
type AskTool = (request: unknown, data: object) => unknown;
/** The functions of an action, by its fields and their parts. */
export type ChoiceFunctions = { [name: string]: ChoiceFunctions | AskTool };
type Field = { dynamic?: unknown; properties?: Record<string, Field> };

type Asked = {
  executeDynamicField(action: string, field: string, data: object): Promise<Answer | undefined>;
};

/** The most choices that leave the process. */
const choices_max = 5_000;

/** Asks the tool. Throws what stands in the way, also if the function only tells of it. */
export async function askChoices(
  destination: Asked,
  { settings: { oauth, ...settings }, action, field, payload, page }: Asking,
  seen: Seen,
  features: object,
): Promise<ToolOutcome & { choices: unknown; omitted: number; next_page: unknown }> {
  const auth = { accessToken: oauth?.access_token };
  const data = { settings, auth, payload, features, ...(page === null ? {} : { page }) };
  const { choices, nextPage, error } =
    (await destination.executeDynamicField(action, field, data)) ?? {};
  const list = Array.isArray(choices) ? choices : [];
  // Some functions tell of no failure.
  const refusal = list.length === 0 ? seen.refusal : undefined;
  const told = error === undefined || error === null ? refusal : saidBy(error);
  if (told !== undefined) throw new Error(told);
  return {
    kind: 'sent',
    choices: list.slice(0, choices_max),
    omitted: Math.max(list.length - choices_max, 0),
    next_page: nextPage ?? null,
  };
}

function saidBy({ message }: { message?: unknown }): string {
  return typeof message === 'string' && message !== '' ? message : 'It does not say why.';
}

/**
 * The functions with a next page only from those that read which page is wanted: others name one
 * and give the first page again.
 */
export function withTruePages(functions: ChoiceFunctions): ChoiceFunctions {
  return Object.fromEntries(
    Object.entries(functions).map(([name, one]) => [
      name,
      typeof one === 'function' ? withTruePage(one) : withTruePages(one),
    ]),
  );
}

function withTruePage(ask: AskTool): AskTool {
  return async (request, given) => {
    let is_read = false;
    const data = new Proxy(given, {
      get: (values, key) => {
        is_read ||= key === 'page';
        return Reflect.get(values, key) as unknown;
      },
    });
    const answer = (await ask(request, data)) as object;
    return is_read ? answer : { ...answer, nextPage: null };
  };
}

/** The fields, of which those with a function are `dynamic`, and no others. */
export function withDynamic(
  fields: Record<string, Field>,
  functions: ChoiceFunctions = {},
): Record<string, Field> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const own = Object.hasOwn(functions, name) ? functions[name] : undefined;
      const parts = typeof own === 'object' ? own : {};
      const isAsked = typeof own === 'function' || Object.hasOwn(parts, '__keys__');
      const properties = field.properties && withDynamic(field.properties, parts);
      const dynamic = isAsked ? true : undefined;
      const { dynamic: _told, ...others } = field;
      const known = isAsked === (field.dynamic === true) ? field : { ...others, dynamic };
      return [name, properties === undefined ? known : { ...known, properties }];
    }),
  );
}
