import type { FastifySchema } from 'fastify';
import { Type } from 'typebox';
import { problem } from '../../platform/http/hidden_route.ts';
import type { Door, SettingsDoor } from './protocol.ts';
import { SdkProblem } from './sdk_refusal.ts';

const description =
  'The key is a write key of the project, where the SDK puts its key. 200 means that every ' +
  'event is stored and survives a crash, except for refused ones (docs/sdks.md).';
const refused = {
  400: 'The body is not in the form of the SDK, or every event was refused.',
  401: 'The write key is missing, unknown, expired or revoked, or it is a personal key.',
  413: 'The body is larger than 20 MiB, packed or unpacked: send fewer events at a time.',
  503: 'Too busy; Retry-After says when to retry.',
};

const refused_settings = {
  400: 'The request cannot be read, or has several keys.',
  401: 'The key is missing although needed, unknown, expired or revoked.',
  413: refused[413],
  503: refused[503],
};

const refused_name = {
  404: 'The name in the path has more than 100 characters, or is not encoded as a URL has it.',
};

/** Describes an ingestion route of an SDK in the OpenAPI document. The SDK defines the bodies. */
export function doorSchema(
  { summary, answers = ['application/json'], refusals }: Door,
  method: string,
  path: string,
): FastifySchema {
  const problems = Object.entries(refused).map(([status, told]) => [
    status,
    refusals === undefined
      ? problemAnswer(told)
      : { description: told, content: contentOf(refusals) },
  ]);
  return {
    operationId: `capture_${nameOf(path)}_${method.toLowerCase()}`,
    tags: ['capture'],
    summary,
    description,
    response: {
      200: {
        description: 'Stored. The body is what the SDK expects.',
        content: contentOf(answers),
      },
      ...Object.fromEntries(problems),
    },
  };
}

/** Describes the settings route of an SDK in the OpenAPI document. */
export function settingsSchema(
  { summary, answers = 'application/json' }: SettingsDoor,
  method: string,
  path: string,
): FastifySchema {
  const told_of = path.includes(':') ? { ...refused_settings, ...refused_name } : refused_settings;
  const problems = Object.entries(told_of).map(([status, told]) => [status, problemAnswer(told)]);
  return {
    operationId: `sdk_${nameOf(path)}_${method.toLowerCase()}`,
    tags: ['capture'],
    summary,
    description:
      'SDKs request this in addition to sending events. Scripts below `/static/` for ' +
      'features that are off are empty.',
    response: {
      200: { description: 'What the SDK expects.', content: contentOf([answers]) },
      ...(method === 'GET' ? { 304: { description: 'As it was.', type: 'null' } } : {}),
      ...Object.fromEntries(problems),
    },
  };
}

/** Describes, in the OpenAPI document, a refusal that SDKs read. */
export function problemAnswer(description: string) {
  return { description, content: { [problem]: { schema: SdkProblem } } };
}

function nameOf(path: string): string {
  return path.replaceAll(/\W+/g, '_').replaceAll(/^_|_$/g, '');
}

function contentOf(types: readonly string[]) {
  return Object.fromEntries(types.map((type) => [type, { schema: Type.Unknown() }]));
}
