import type { ToolOutcome } from '../../../server/engine/plugins/sandbox/tool_outcome.ts';

/** An event that a mapping of a tool sends. */
export type Sending = { settings: object; action: string; mapping: object };

/** Sends an event by a tool with variables of the operator; returns the outcome as text. */
export type Send = (
  directory: string,
  sending: Sending,
  variables: Record<string, string>,
) => Promise<string>;

/**
 * Throws unless the trace of the outcome has one request, to this address and with this answer.
 * `text`: a part of the event in its body. The status is null for protocols other than HTTP.
 */
export function requireTraced(
  outcome: string,
  url: RegExp,
  answer: RegExp,
  { text = 'o-4711', status = null }: { text?: string; status?: number | null } = {},
): void {
  const { exchanges } = JSON.parse(outcome) as ToolOutcome;
  const [one] = exchanges ?? [];
  const isTraced =
    exchanges?.length === 1 &&
    url.test(one!.request.url) &&
    one!.request.body?.text?.includes(text) === true &&
    one!.answer?.status === status &&
    answer.test(one!.answer.body.text ?? '');
  if (!isTraced) throw new Error(`The trace is wrong: ${outcome}`);
}

/** Throws unless the event was sent. */
export function requireSent(outcome: string): void {
  if (!outcome.startsWith('{"kind":"sent"')) throw new Error(outcome);
}
