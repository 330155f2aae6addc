import { errorBody } from '../../platform/http/errors.ts';
import type { ApiError } from '../../platform/http/errors.ts';
import { Problem } from '../../platform/http/responses.ts';
import { text, titled } from '../../platform/http/schemas.ts';
import { jsonAnswer } from './protocol.ts';
import type { Answer } from './protocol.ts';

/** The schema of a refusal for SDKs whose protocol has no form of its own. */
export const SdkProblem = titled('SdkProblem', {
  ...Problem.properties,
  message: text('Repeats `detail`, for the clients that read it here.'),
  error: text('Repeats `detail`, for the clients that read it here.'),
});

/** Returns a refusal in the form of all SDKs without a form of their own. */
export function sdkRefusal(error: ApiError, request_id: string): Answer {
  const body = errorBody(error, request_id);
  return {
    ...jsonAnswer({ ...body, message: body.detail, error: body.detail }),
    type: 'application/problem+json; charset=utf-8',
  };
}
