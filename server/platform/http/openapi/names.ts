import type { FastifySchema } from 'fastify';
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { text } from '../schemas.ts';

/** Converts `batch_exports` to `BatchExport`: each word in the singular. */
function nounOf(segment: string): string {
  const words = segment.split('_');
  const last = words
    .at(-1)!
    .replace(/ies$/, 'y')
    .replace(/(?<![sui])s$/, '');
  return pascal([...words.slice(0, -1), last].join('_'));
}

function pascal(name: string): string {
  return name
    .split(/[_-]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

/** Returns the segments of a path after `/api/` and after its organization or project. */
function ownSegments(url: string): string[] {
  const segments = url.split('/').filter((segment) => segment !== '' && segment !== 'api');
  const isMounted = /^:(organization|project)_id$/.test(segments[1] ?? '');
  return isMounted && segments.length > 2 ? segments.slice(2) : segments;
}

/**
 * Returns the name of a body without a title in the document: `BatchExportCreate`,
 * `BatchExportPatch` and `BatchExportPut`, for an action `BatchExportPauseRequest`. The same path
 * under an organization and a project gives the same name.
 */
export function bodyTitle(url: string, method: string): string {
  const segments = ownSegments(url);
  const names = namesIn(segments);
  const last = names.at(-1) ?? '';
  const isCollection = segments.at(-1) === last && /[^s]s$/.test(last);
  const verbs: Record<string, string> = { PATCH: 'Patch', PUT: 'Put', DELETE: 'Delete' };
  const verb = verbs[method] ?? (isCollection ? 'Create' : 'Request');
  return wordsOf(segments) + verb;
}

/** Returns the name of an answer without a title in the document. */
export function answerTitle(url: string): string {
  return `${wordsOf(ownSegments(url))}Answer`;
}

/** Parameters and their substitutes: `:id`, `@me`. */
const isParameter = (segment: string) => /^[:@]/.test(segment);

const namesIn = (segments: string[]) => segments.filter((segment) => !isParameter(segment));

/**
 * Returns the names in a path, in the singular except for a whole collection: `events/resend/`
 * differs from `events/:id/resend/`.
 */
function wordsOf(segments: string[]): string {
  return segments
    .map((segment, index) => {
      if (isParameter(segment)) return '';
      const next = segments[index + 1];
      return next === undefined || isParameter(next) ? nounOf(segment) : pascal(segment);
    })
    .join('');
}

/**
 * `/api/projects/:project_id/batch_exports/:id/pause/` POST gives the operation
 * `projects_batch_exports_pause_create` and the tag `batch_exports`. An action on a whole
 * collection, such as `batch_exports/test/`, gives `projects_batch_exports_collection_test_create`.
 */
export function namesOf(url: string, method: string, schema: FastifySchema) {
  const segments = url.split('/').filter((segment) => segment !== '' && segment !== 'api');
  const words = segments.filter((segment) => !segment.startsWith(':'));
  const single = segments.at(-1)?.startsWith(':') === true;
  const nested =
    segments[1] === ':organization_id' || segments[1] === ':project_id' ? segments[2] : undefined;
  // The segment of a nested record: `batch_exports/:batch_export_id/runs/` has its own tag.
  const inner = /^:\w+_id$/.test(segments[3] ?? '') ? segments[4] : undefined;
  if (
    nested !== undefined &&
    !single &&
    segments.length > 3 &&
    segments.at(-2)?.startsWith(':') === false
  )
    words.splice(-1, 0, 'collection');
  const verbs: Record<string, string> = {
    GET: single ? 'retrieve' : 'list',
    POST: 'create',
    PUT: 'update',
    PATCH: 'partial_update',
    DELETE: 'destroy',
  };
  return {
    operationId: [...words, verbs[method] ?? method.toLowerCase()].join('_'),
    tags: [inner ?? nested ?? words[0] ?? 'server'],
    ...schema,
  };
}

const path_parameters: Record<string, string> = {
  organization_id: 'UUID of an organization, or `@current`.',
  project_id: 'Integer id of a project, or `@current`.',
  user__uuid: 'UUID of the person (`user.uuid`), or `@me`.',
};
const current = new Set(['organizations', 'projects']);

/** Returns the schema of the parameters in a path, each with a sentence; undefined without any. */
export function parametersOf(url: string): { params: TSchema } | undefined {
  const segments = url.split('/');
  const parameters = segments.flatMap((segment, index) =>
    segment.startsWith(':') ? [[segment.slice(1), segments[index - 1]!] as const] : [],
  );
  if (parameters.length === 0) return undefined;
  return {
    params: Type.Object(
      Object.fromEntries(
        parameters.map(([name, collection]) => [
          name,
          text(path_parameters[name] ?? parameterText(name, collection)),
        ]),
      ),
    ),
  };
}

function parameterText(name: string, collection: string): string {
  const noun = nounOf(collection)
    .replaceAll(/(?<=.)[A-Z]/g, ' $&')
    .toLowerCase();
  const field = /(^|_)id$/.test(name) ? 'Id' : `The \`${name}\``;
  return `${field} of the ${noun}${current.has(collection) ? ', or `@current`' : ''}.`;
}
