import { isJsonObject, isTooDeep, parseExact } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import { withoutUndefined } from '../../../platform/fields.ts';
import { takeList } from './written_out.ts';

// Attributes of OpenTelemetry's conventions for generative AI (`gen_ai.`, of several years), of
// Vercel's AI SDK (`ai.`), of OpenLLMetry (`llm.`, `traceloop.`) and of OpenInference.

/**
 * Properties of PostHog, and the attributes with the same meaning; the first existing one is moved.
 */
const same: Record<string, readonly string[]> = {
  $ai_input: ['gen_ai.input.messages', 'ai.prompt.messages'],
  $ai_output_choices: ['gen_ai.output.messages'],
  $ai_tools: ['gen_ai.tool.definitions', 'ai.prompt.tools'],
  $ai_model: [
    'gen_ai.response.model',
    'gen_ai.request.model',
    'ai.response.model',
    'ai.model.id',
    'llm.response.model',
    'llm.request.model',
    'llm.model_name',
  ],
  $ai_provider: [
    'gen_ai.provider.name',
    'gen_ai.system',
    'ai.model.provider',
    'llm.vendor',
    'llm.provider',
  ],
  $ai_input_tokens: [
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.prompt_tokens',
    'ai.usage.inputTokens',
    'ai.usage.promptTokens',
    'llm.usage.prompt_tokens',
    'llm.token_count.prompt',
  ],
  $ai_output_tokens: [
    'gen_ai.usage.output_tokens',
    'gen_ai.usage.completion_tokens',
    'ai.usage.outputTokens',
    'ai.usage.completionTokens',
    'llm.usage.completion_tokens',
    'llm.token_count.completion',
  ],
  $ai_cache_read_input_tokens: [
    'gen_ai.usage.cache_read.input_tokens',
    'gen_ai.usage.cache_read_input_tokens',
    'ai.usage.cachedInputTokens',
    'llm.token_count.prompt_details.cache_read',
  ],
  $ai_cache_creation_input_tokens: [
    'gen_ai.usage.cache_creation.input_tokens',
    'gen_ai.usage.cache_creation_input_tokens',
    'llm.token_count.prompt_details.cache_write',
  ],
  $ai_reasoning_tokens: [
    'gen_ai.usage.reasoning_tokens',
    'ai.usage.outputTokenDetails.reasoningTokens',
    'ai.usage.reasoningTokens',
    'llm.token_count.completion_details.reasoning',
  ],
  $ai_base_url: ['server.address'],
  $ai_stop_reason: [
    'ai.response.finishReason',
    'gen_ai.response.finish_reasons',
    'llm.response.stop_reason',
    'llm.response.finish_reason',
  ],
  $ai_session_id: ['gen_ai.conversation.id', 'session.id'],
  $ai_span_name: ['ai.toolCall.name', 'gen_ai.tool.name'],
  $ai_input_state: [
    'ai.toolCall.args',
    'gen_ai.tool.call.arguments',
    'traceloop.entity.input',
    'input.value',
  ],
  $ai_output_state: [
    'ai.toolCall.result',
    'gen_ai.tool.call.result',
    'traceloop.entity.output',
    'output.value',
  ],
};

/** The same for lists with an attribute per field: `gen_ai.prompt.0.content`. */
const lists: Record<string, readonly string[]> = {
  $ai_input: ['gen_ai.prompt', 'llm.prompts', 'llm.input_messages'],
  $ai_output_choices: ['gen_ai.completion', 'llm.completions', 'llm.output_messages'],
  $ai_tools: ['llm.request.functions', 'llm.tools'],
};

/**
 * Texts that programs of Vercel's SDK pass with a call; a name like a property's becomes that
 * property.
 */
const handed_on = /^ai\.(?:telemetry\.metadata|settings\.context)\.(?=\$)/;

const message_roles: Record<string, string> = {
  'gen_ai.system.message': 'system',
  'gen_ai.user.message': 'user',
  'gen_ai.assistant.message': 'assistant',
  'gen_ai.tool.message': 'tool',
};

const kinds: Record<string, string> = {
  chat: '$ai_generation',
  completion: '$ai_generation',
  text_completion: '$ai_generation',
  generate_content: '$ai_generation',
  LLM: '$ai_generation',
  embedding: '$ai_embedding',
  embeddings: '$ai_embedding',
  EMBEDDING: '$ai_embedding',
};
const kind_names = ['gen_ai.operation.name', 'llm.request.type', 'openinference.span.kind'];

type AtEvent = { name: unknown; attributes: JsonObject; at?: string | undefined };

/** Returns PostHog's event name for a span: a trace if it has no parent and no call. */
export function aiEventName(attributes: JsonObject, has_parent: boolean): string {
  const operation = attributes['ai.operationId'];
  if (typeof operation === 'string') {
    // Spans around such a call have its name without this suffix.
    if (/\.do(?:Generate|Stream)$/.test(operation)) return '$ai_generation';
    if (operation.endsWith('.doEmbed')) return '$ai_embedding';
  } else {
    for (const name of kind_names) {
      const kind = String(attributes[name]);
      if (Object.hasOwn(kinds, kind)) return kinds[kind]!;
    }
  }
  return has_parent ? '$ai_span' : '$ai_trace';
}

/**
 * Returns the properties of a span's event, and the remaining events of the span. An attribute or
 * event with the meaning of a PostHog property gets its name; other attributes keep theirs. A
 * property that the program named so itself is kept. Never throws.
 */
export function aiProperties(
  attributes: JsonObject,
  span_events: AtEvent[],
): { properties: JsonObject; events: JsonObject[] } {
  const all: JsonObject = Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name.replace(handed_on, ''), value]),
  );
  for (const [property, names] of Object.entries(same)) moveFirst(all, names, property);
  for (const [property, names] of Object.entries(lists))
    for (const name of names) all[property] ??= takeList(all, name)?.map((item) => unwrapped(item));
  if (Array.isArray(all['$ai_stop_reason'])) all['$ai_stop_reason'] = all['$ai_stop_reason'][0];
  const events = takeMessages(all, span_events);
  takeVercelTexts(all);
  takeInstructions(all);
  return { properties: withoutUndefined(all), events };
}

/** Removes attributes that repeat the value. */
function moveFirst(all: JsonObject, names: readonly string[], property: string): void {
  const name = names.find((one) => Object.hasOwn(all, one) && all[one] !== '');
  if (name === undefined || all[property] !== undefined) return;
  const value = all[name];
  for (const one of names) if (all[one] === value) delete all[one];
  delete all[name];
  all[property] = parsed(value);
}

/** Parses texts that hold JSON; JSON that is nested too deeply stays text. */
function parsed(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map((item) => (typeof item === 'string' ? parsed(item) : item));
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    const read = parseExact(value);
    return isTooDeep(read) ? value : read;
  } catch {
    return value;
  }
}

/** OpenInference wraps each message in an object. */
function unwrapped(item: unknown): unknown {
  const inside = isJsonObject(item) ? (item['message'] ?? item['tool']) : undefined;
  return inside === undefined || Object.keys(item as object).length > 1 ? item : inside;
}

/** Returns messages from events of the span, or from Logfire's attribute `events`. */
function takeMessages(all: JsonObject, span_events: AtEvent[]): JsonObject[] {
  const written = parsed(all['events']);
  const entries = Array.isArray(written) ? written.filter(isJsonObject) : [];
  const told = entries.map((entry) => ({ name: entry['event.name'], attributes: entry }));
  const found = { input: [] as JsonObject[], output: [] as JsonObject[] };
  const others: JsonObject[] = [];
  for (const { name, attributes, at } of [...told, ...span_events] as AtEvent[]) {
    const { 'event.name': _, ...message } = attributes;
    if (name === 'gen_ai.choice') found.output.push(choice(message));
    else if (typeof name === 'string' && Object.hasOwn(message_roles, name))
      found.input.push({ role: message_roles[name], ...message });
    else others.push({ name, ...(at === undefined ? {} : { timestamp: at }), ...message });
  }
  if (entries.length > 0 && entries.length === (written as unknown[]).length) delete all['events'];
  if (found.input.length > 0) all['$ai_input'] ??= found.input;
  if (found.output.length > 0) all['$ai_output_choices'] ??= found.output;
  return others;
}

/** Returns the text of a choice, unwrapped. */
function choice(entry: JsonObject): JsonObject {
  const message = parsed(entry['message']);
  return isJsonObject(message) ? { ...message } : entry;
}

/** The prompt and the text of Vercel's SDK, as messages. */
function takeVercelTexts(all: JsonObject): void {
  const messages = all['$ai_input'] === undefined ? promptMessages(parsed(all['ai.prompt'])) : [];
  if (messages.length > 0) {
    all['$ai_input'] = messages;
    delete all['ai.prompt'];
  }
  const { 'ai.response.text': content, 'ai.response.toolCalls': calls } = all;
  if ((content ?? calls) === undefined || all['$ai_output_choices'] !== undefined) return;
  all['$ai_output_choices'] = [
    withoutUndefined({ role: 'assistant', content, tool_calls: parsed(calls) }),
  ];
  delete all['ai.response.text'];
  delete all['ai.response.toolCalls'];
}

function promptMessages(prompt: unknown): unknown[] {
  if (Array.isArray(prompt)) return prompt;
  if (typeof prompt === 'string') return [{ role: 'user', content: prompt }];
  if (!isJsonObject(prompt)) return [];
  const { system, prompt: text, messages } = prompt;
  const first = system === undefined ? [] : [{ role: 'system', content: system }];
  if (Array.isArray(messages)) return [...first, ...(messages as unknown[])];
  return text === undefined ? first : [...first, { role: 'user', content: text }];
}

/** Separate instructions become the first message. */
function takeInstructions(all: JsonObject): void {
  const content = textOf(parsed(all['gen_ai.system_instructions']));
  const { $ai_input: messages = [] } = all;
  if (content === undefined || !Array.isArray(messages)) return;
  const [first] = messages as unknown[];
  if (isJsonObject(first) && first['role'] === 'system') return;
  all['$ai_input'] = [{ role: 'system', content }, ...(messages as unknown[])];
  delete all['gen_ai.system_instructions'];
}

/** Joins the text parts of a message; other parts stay unchanged. */
function textOf(parts: unknown): unknown {
  if (!Array.isArray(parts)) return parts;
  const texts = parts.map((part: unknown) =>
    isJsonObject(part) && part['type'] === 'text' ? part['content'] : undefined,
  );
  return texts.every((text) => typeof text === 'string') ? texts.join('\n\n') : parts;
}
