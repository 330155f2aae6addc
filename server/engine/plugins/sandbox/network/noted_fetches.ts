import type { PluginRequest, PluginResponse } from './plugin_fetch.ts';
import { bodyOf, headerFieldsOf, noteRequest } from '../tool_child/exchanges.ts';
import type { ToolExchange } from '../tool_outcome.ts';

/** Records the requests of a call, and their answers. */
export type NotedFetches = {
  /** Adds a request; `is_alone`: no other call of the plugin was in progress. */
  add(request: PluginRequest, is_alone: boolean): ToolExchange;
  /** Returns all of them, in the form that may be shown with the event of the call. */
  exchanges(): ToolExchange[];
};

/**
 * Opens the record of a call. Concurrent calls of a plugin can share requests, so a request may
 * belong to another call. For such a request, the record contains no person's data: only its host,
 * the status, and when to ask again.
 */
export function openNotedFetches(): NotedFetches {
  const noted: ToolExchange[] = [];
  const beside = new Set<ToolExchange>();
  return {
    add: (request, is_alone) => {
      const exchange = noteFetch(noted, request);
      if (!is_alone) beside.add(exchange);
      return exchange;
    },
    exchanges: () => noted.map((one) => (beside.has(one) ? withoutContent(one) : one)),
  };
}

/** Adds a request of a plugin without an answer, which the caller completes. */
export function noteFetch(exchanges: ToolExchange[], request: PluginRequest): ToolExchange {
  const { method, url, headers, body } = request;
  return noteRequest(exchanges, { method, url, headers, body: Buffer.from(body ?? '', 'base64') });
}

/** Returns an answer in stored form. */
export function answerOf({ status, headers, body }: PluginResponse): ToolExchange['answer'] {
  const bytes = Buffer.from(body, 'base64');
  return { status, header_fields: headerFieldsOf(headers), body: bodyOf(bytes) };
}

function withoutContent({ request, answer, error }: ToolExchange): ToolExchange {
  const url = URL.parse(request.url);
  const untold = (body: { size_bytes: number }) => ({
    text: '(not kept: calls of the plugin for other events were in progress)',
    size_bytes: body.size_bytes,
  });
  return {
    request: {
      method: request.method,
      url: url === null ? '' : `${url.origin}/...`,
      header_fields: [],
      body: request.body && untold(request.body),
    },
    answer: answer && {
      status: answer.status,
      header_fields: answer.header_fields.filter(({ name }) => name === 'retry-after'),
      body: untold(answer.body),
    },
    error: error === null ? null : 'No answer came.',
  };
}
