import { case_key as key } from './protocol_case.ts';
import type { ProtocolCase, WantedEvent } from './protocol_case.ts';

type Value = string | number | boolean | readonly string[];
type Attributes = Record<string, Value>;

function valueOf(value: Value): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'number') return { intValue: String(value) };
  if (typeof value === 'boolean') return { boolValue: value };
  return { arrayValue: { values: value.map(valueOf) } };
}
const listed = (all: Attributes) =>
  Object.entries(all).map(([name, value]) => ({ key: name, value: valueOf(value) }));

const trace = '0af7651916cd43dd8448eb211c80319c';
const ids = { traceId: trace, spanId: 'b7ad6b7169203331' };

/** A request with spans that only their attributes identify, and the stored event of each. */
function requestOf(
  says: string,
  spans: readonly { attributes?: Attributes; [field: string]: unknown }[],
  wanted: ProtocolCase['wanted'],
  resource: Attributes = {},
): ProtocolCase {
  const list = spans.map(({ attributes = {}, ...span }) => ({
    ...ids,
    ...span,
    attributes: listed(attributes),
  }));
  return {
    says,
    path: '/i/v0/ai/otel',
    headers: { authorization: `Bearer ${key}` },
    body: {
      resourceSpans: [
        { resource: { attributes: listed(resource) }, scopeSpans: [{ spans: list }] },
      ],
    },
    wanted,
  };
}

/** The event of a span without a parent: its attributes, and the properties `seen` there. */
function of(says: string, event: string, attributes: Attributes, seen: object): ProtocolCase {
  const properties = {
    $lib: 'posthog-otel',
    $ai_trace_id: trace,
    $ai_span_id: ids.spanId,
    $ai_ingestion_source: 'otel',
    ...seen,
  };
  return requestOf(
    says,
    [{ attributes: { 'user.id': 'ada', ...attributes } }],
    [{ event, distinct_id: 'ada', properties: { 'user.id': 'ada', ...properties } }],
  );
}

const generation: WantedEvent = {
  event: '$ai_generation',
  distinct_id: 'ada',
  uuid: 'b36ec5a8-2c99-5ec4-aa22-c29b847c5eae',
  timestamp: '2026-11-22 11:59:59.123456',
  warnings: [],
  properties: {
    tier: 'gold',
    $lib: 'posthog-otel',
    $lib_version: '2.1',
    scope: { name: 'instrumentation-openai', version: '2.1' },
    $ai_trace_id: trace,
    $ai_span_id: ids.spanId,
    $ai_parent_id: '00f067aa0ba902b7',
    $ai_span_name: 'chat gpt-5',
    $ai_latency: 1.5,
    $ai_ingestion_source: 'otel',
    $ai_provider: 'openai',
    $ai_model: 'gpt-5-2026',
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-5',
    'posthog.distinct_id': 'ada',
    $ai_input_tokens: 12,
    $ai_output_tokens: 3,
    $ai_stop_reason: 'stop',
    $ai_session_id: 'thread-1',
    $ai_input: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', parts: [{ type: 'text', content: 'Hi' }] },
    ],
    $ai_output_choices: [{ role: 'assistant', content: 'Hello' }],
  },
};

/** Messages of OpenTelemetry's exporters about language models in JSON, and the stored events. */
export const span_cases: readonly ProtocolCase[] = [
  {
    says: 'a call by the conventions for generative AI',
    path: '/i/v0/ai/otel/v1/traces/',
    headers: { authorization: `Bearer ${key}` },
    body: {
      resourceSpans: [
        {
          resource: { attributes: listed({ tier: 'gold', 'host.name': 'h', 'os.type': 'linux' }) },
          scopeSpans: [
            {
              scope: { name: 'instrumentation-openai', version: '2.1' },
              spans: [
                {
                  ...ids,
                  parentSpanId: '00f067aa0ba902b7',
                  name: 'chat gpt-5',
                  startTimeUnixNano: '1795348799123456789',
                  endTimeUnixNano: '1795348800623456789',
                  attributes: listed({
                    'gen_ai.operation.name': 'chat',
                    'gen_ai.provider.name': 'openai',
                    'gen_ai.request.model': 'gpt-5',
                    'gen_ai.response.model': 'gpt-5-2026',
                    'gen_ai.usage.input_tokens': 12,
                    'gen_ai.usage.output_tokens': 3,
                    'gen_ai.response.finish_reasons': ['stop'],
                    'gen_ai.conversation.id': 'thread-1',
                    'gen_ai.system_instructions': '[{"type":"text","content":"Be brief."}]',
                    'gen_ai.system': 'openai',
                    'gen_ai.input.messages':
                      '[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]',
                    'gen_ai.output.messages': '[{"role":"assistant","content":"Hello"}]',
                    'posthog.distinct_id': 'ada',
                  }),
                },
              ],
            },
          ],
        },
      ],
    },
    wanted: [generation],
  },
  requestOf(
    'what is no span is refused, and so is one that has nothing of a model',
    [{ name: 'GET /', attributes: { 'http.request.method': 'GET' } }, { name: 'ai.tool' }],
    [{ refused: 'feature_off' }, { event: '$ai_trace', distinct_id: trace, warnings: [] }],
  ),
  requestOf(
    'who is nobody is the session, else the trace; the resource may name somebody',
    [{ name: 'llm.call', attributes: { 'session.id': 's-1' } }],
    [
      {
        event: '$ai_trace',
        distinct_id: 's-1',
        properties: {
          $lib: 'posthog-otel',
          $ai_trace_id: trace,
          $ai_span_id: ids.spanId,
          $ai_span_name: 'llm.call',
          $process_person_profile: false,
          $ai_ingestion_source: 'otel',
          $ai_session_id: 's-1',
        },
      },
    ],
  ),
  requestOf(
    'a resource may name somebody',
    [{ name: 'llm.call' }],
    [{ event: '$ai_trace', distinct_id: 'ada' }],
    { 'user.id': 'ada' },
  ),
  requestOf(
    'a call that failed says what its last exception says, other events of it are kept',
    [
      {
        name: 'ai.call',
        parentSpanId: '00f067aa0ba902b7',
        status: { code: 2, message: 'failed' },
        events: [
          { name: 'first token', timeUnixNano: '1795348799000000000' },
          { name: 'gen_ai.user.message', attributes: listed({ content: 'Hi' }) },
          { name: 'gen_ai.choice', attributes: listed({ message: '{"content":"Hello"}' }) },
          {
            name: 'exception',
            attributes: listed({ 'exception.type': 'RateLimit', 'exception.message': '429' }),
          },
        ],
      },
    ],
    [
      {
        event: '$ai_span',
        distinct_id: trace,
        properties: {
          $lib: 'posthog-otel',
          $ai_trace_id: trace,
          $ai_span_id: ids.spanId,
          $ai_parent_id: '00f067aa0ba902b7',
          $ai_span_name: 'ai.call',
          $process_person_profile: false,
          $ai_ingestion_source: 'otel',
          $ai_is_error: true,
          $ai_error: 'RateLimit: 429',
          $ai_input: [{ role: 'user', content: 'Hi' }],
          $ai_output_choices: [{ content: 'Hello' }],
          span_events: [
            { name: 'first token', timestamp: '2026-11-22T11:59:59.000000Z' },
            { name: 'exception', 'exception.type': 'RateLimit', 'exception.message': '429' },
          ],
        },
      },
    ],
  ),
  of(
    "a call of Vercel's SDK",
    '$ai_generation',
    {
      'ai.operationId': 'ai.generateText.doGenerate',
      'ai.prompt.messages': '[{"role":"user","content":"Hi"}]',
      'ai.response.text': 'Hello',
      'ai.response.toolCalls': '[{"toolName":"look"}]',
      'ai.prompt.tools': ['{"name":"look"}'],
      'ai.response.finishReason': 'stop',
      'ai.telemetry.metadata.$ai_session_id': 's-1',
      'ai.telemetry.metadata.plan': 'pro',
    },
    {
      'ai.operationId': 'ai.generateText.doGenerate',
      $ai_input: [{ role: 'user', content: 'Hi' }],
      $ai_output_choices: [
        { role: 'assistant', content: 'Hello', tool_calls: [{ toolName: 'look' }] },
      ],
      $ai_tools: [{ name: 'look' }],
      $ai_stop_reason: 'stop',
      $ai_session_id: 's-1',
      'ai.telemetry.metadata.plan': 'pro',
    },
  ),
  of(
    "what is around calls of Vercel's SDK, with a prompt and instructions",
    '$ai_trace',
    {
      'ai.operationId': 'ai.generateText',
      'gen_ai.operation.name': 'chat',
      'ai.prompt': '{"system":"Be brief.","prompt":"Hi"}',
    },
    {
      'ai.operationId': 'ai.generateText',
      'gen_ai.operation.name': 'chat',
      $ai_input: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ],
    },
  ),
  of(
    'messages of OpenLLMetry, each field an attribute, in the order of their numbers',
    '$ai_generation',
    {
      'llm.request.type': 'chat',
      'gen_ai.prompt.10.content': 'b',
      'gen_ai.prompt.2.role': 'user',
      'gen_ai.prompt.2.content': 'a',
      'gen_ai.prompt.2.tool_calls.0.name': 'look',
      'gen_ai.prompt.2.tool_calls.0.name.x': 'left where it is',
      'gen_ai.prompt.x': 'no item',
      'gen_ai.prompt.10.__proto__': 'a name like others',
      'gen_ai.completion.0.content': 'c',
      'llm.request.functions.0.name': 'look',
    },
    {
      'llm.request.type': 'chat',
      'gen_ai.prompt.2.tool_calls.0.name.x': 'left where it is',
      'gen_ai.prompt.x': 'no item',
      $ai_input: [
        { role: 'user', content: 'a', tool_calls: [{ name: 'look' }] },
        JSON.parse('{"content":"b","__proto__":"a name like others"}'),
      ],
      $ai_output_choices: [{ content: 'c' }],
      $ai_tools: [{ name: 'look' }],
    },
  ),
  of(
    'a call of OpenInference',
    '$ai_embedding',
    {
      'openinference.span.kind': 'EMBEDDING',
      'llm.input_messages.0.message.role': 'user',
      'llm.model_name': 'small',
    },
    {
      'openinference.span.kind': 'EMBEDDING',
      $ai_input: [{ role: 'user' }],
      $ai_model: 'small',
    },
  ),
  of(
    'what the program calls like a property is that property, and other JSON stays text',
    '$ai_trace',
    { 'gen_ai.request.model': 'a', $ai_model: 'b', 'gen_ai.output.messages': '[1, ' },
    { 'gen_ai.request.model': 'a', $ai_model: 'b', $ai_output_choices: '[1, ' },
  ),
];
