import { Type } from 'typebox';
import { errorBody } from '../../platform/http/errors.ts';
import type { ApiError } from '../../platform/http/errors.ts';
import { Problem } from '../../platform/http/responses.ts';
import { jsonAnswer } from './protocol.ts';
import type { Answer } from './protocol.ts';

/** The schema of a refusal for SDKs whose protocol has no form of its own. */
export const SdkProblem = Type.Object(
  {
    ...Problem.properties,
    message: Type.String({ description: 'Repeats `detail`, for the clients that read it here.' }),
    error: Type.String({ description: 'Repeats `detail`, for the clients that read it here.' }),
  },
  { title: 'SdkProblem' },
);

/** A client, its path, and the fields that it reads in a refusal. */
export type RefusalReader = { client: string; path: string; reads: readonly string[] };

/**
 * Every client that reads more than the status of a refusal. If a field is missing, such a client
 * assumes a network fault: it repeats a request that can never succeed, and holds back all later
 * events.
 */
export const refusal_readers: readonly RefusalReader[] = [
  { client: 'posthog-python', path: '/batch/', reads: ['detail'] },
  { client: 'posthog-ruby', path: '/batch/', reads: ['error'] },
  {
    client: 'clients of PostHog, wire version 1',
    path: '/i/v1/analytics/events/',
    reads: ['error', 'error_description'],
  },
  { client: 'segment-analytics-python', path: '/v1/batch/', reads: ['code', 'message'] },
  { client: 'analytics-ruby', path: '/v1/batch/', reads: ['error'] },
  { client: 'rudder-sdk-python', path: '/v1/batch/', reads: ['code', 'message'] },
  { client: 'rudder-sdk-ruby', path: '/v1/batch/', reads: ['error'] },
  { client: 'exporters of OpenTelemetry', path: '/v1/logs/', reads: ['code', 'message'] },
];

/** Returns a refusal in the form of all SDKs without a form of their own. */
export function sdkRefusal(error: ApiError, request_id: string): Answer {
  const body = errorBody(error, request_id);
  return {
    ...jsonAnswer({ ...body, message: body.detail, error: body.detail }),
    type: 'application/problem+json; charset=utf-8',
  };
}
