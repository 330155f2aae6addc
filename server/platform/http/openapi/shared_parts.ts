import { isObject } from './json.ts';
import type { Json, JsonObject } from './json.ts';

const answer_names: Record<string, string> = {
  304: 'NotModified',
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  412: 'PreconditionFailed',
  413: 'ContentTooLarge',
  415: 'UnsupportedMediaType',
  422: 'IdempotencyMismatch',
  429: 'TooManyRequests',
  500: 'ServerError',
  503: 'Unavailable',
};

/** Fewest operations with the same answer or parameter that give it a name. */
const sharing_min = 3;

/**
 * Returns the paths with shared parts moved to components: the most frequent refusal of each
 * status, and the most frequent parameter of each name.
 */
export function withSharedParts(paths: JsonObject): { paths: JsonObject; components: JsonObject } {
  const operations = Object.values(paths).flatMap((path) => Object.values(path as JsonObject));
  const responses = openParts('responses', (name) => answer_names[name]);
  const parameters = openParts('parameters', pascal);
  for (const operation of operations.filter(isObject)) {
    for (const [status, response] of refusalsOf(operation)) responses.count(status, response);
    for (const parameter of parametersOf(operation)) parameters.count(nameOf(parameter), parameter);
  }
  const share = (operation: Json): Json => {
    if (!isObject(operation)) return operation;
    const refused = refusalsOf(operation).map(([status, response]): [string, Json] => [
      status,
      responses.shared(status, response),
    ]);
    const taken = parametersOf(operation).map((one) => parameters.shared(nameOf(one), one));
    return {
      ...operation,
      ...(taken.length === 0 ? {} : { parameters: taken }),
      responses: { ...(operation['responses'] as JsonObject), ...Object.fromEntries(refused) },
    };
  };
  const shared = Object.entries(paths).map(([path, methods]): [string, Json] => [
    path,
    Object.fromEntries(
      Object.entries(methods as JsonObject).map(([key, one]) => [key, share(one)]),
    ),
  ]);
  return {
    paths: Object.fromEntries(shared),
    components: { responses: responses.named(), parameters: parameters.named() },
  };
}

/** Counts parts by name and text, and returns the most frequent one of each name as a component. */
function openParts(place: string, componentName: (name: string) => string | undefined) {
  const counts = new Map<string, Map<string, number>>();
  const commonest = (name: string) => {
    const [most] = [...(counts.get(name) ?? [])].toSorted(([, one], [, other]) => other - one);
    return most !== undefined && most[1] >= sharing_min ? most[0] : undefined;
  };
  return {
    count(name: string, part: Json): void {
      const known = counts.get(name) ?? new Map<string, number>();
      counts.set(name, known.set(JSON.stringify(part), (known.get(JSON.stringify(part)) ?? 0) + 1));
    },
    shared(name: string, part: Json): Json {
      const component = componentName(name);
      return component !== undefined && commonest(name) === JSON.stringify(part)
        ? { $ref: `#/components/${place}/${component}` }
        : part;
    },
    named(): JsonObject {
      const entries = [...counts.keys()].sort().flatMap((name): [string, Json][] => {
        const [component, text] = [componentName(name), commonest(name)];
        return component === undefined || text === undefined
          ? []
          : [[component, JSON.parse(text) as Json]];
      });
      return Object.fromEntries(entries);
    },
  };
}

const refusalsOf = (operation: JsonObject) =>
  Object.entries(operation['responses'] as JsonObject).filter(([status]) => status >= '300');

const parametersOf = (operation: JsonObject) => (operation['parameters'] ?? []) as JsonObject[];

const nameOf = ({ name }: JsonObject) => (typeof name === 'string' ? name : '');

function pascal(name: string): string {
  return name
    .split(/[_-]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}
