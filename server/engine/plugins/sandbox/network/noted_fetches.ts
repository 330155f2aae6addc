import type { PluginRequest, PluginResponse } from './plugin_fetch.ts';
import { bodyOf, headerFieldsOf, noteRequest } from '../tool_child/exchanges.ts';
import type { ToolExchange } from '../tool_outcome.ts';

/** Takes the requests that a call made, and the answers to them. */
export type NotedFetches = {
  /** Adds a request; `is_alone`: no other call of the plugin was in progress. */
  add(request: PluginRequest, is_alone: boolean): ToolExchange;
  /** All of them, as they may be shown beside the event of the call. */
  exchanges(): ToolExchange[];
};

/**
 * Opens the notes of a call. Calls of a plugin that are in progress together can share what they
 * wait for, so a request may be another call's. Of such a request the notes show no person's data:
 * its host, the status, and when to ask again.
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

/** An answer as it is kept. */
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
