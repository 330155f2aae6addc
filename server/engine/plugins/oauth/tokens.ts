import { isFields } from '../../../platform/fields.ts';
import { HoldError } from '../running/hold.ts';
import type { ToolOutcome } from '../sandbox/tool_outcome.ts';
import { currentConnection } from './refresh.ts';
import type { OauthParts, OauthPlace } from './refresh.ts';
import { findVendor } from './vendors.ts';

/** A call of a tool's process. */
export type ToolCall = (method: string, payload: unknown, signal: AbortSignal) => Promise<unknown>;

/** The access token of a call, and the settings that came with it. */
type Grant = { generation: number; access_token: string; settings: Record<string, string> };
/** Returns a grant; with `refused`, another one than that. */
type Granting = (payload: Sending, signal: AbortSignal, refused?: Grant) => Promise<Grant>;
type Sending = { settings: Record<string, unknown> };
/** Masks values in all texts about the config. */
type Hiding = { hide(values: readonly unknown[]): Promise<void> };

/** A token whose refresh fails is used until it expires. */
const look_ms_min = 2_000;

/**
 * Returns the call with an access token among its settings, if the tool uses OAuth. A call that the
 * tool denies with 401 is repeated once with a new token. Throws a HoldError without a token.
 */
export function withTokens(
  parts: OauthParts & Hiding,
  { config_id, tool }: { config_id: number; tool: string },
  call: ToolCall,
): ToolCall {
  const vendor = findVendor(tool);
  if (vendor === undefined) return call;
  const place = { config_id, tool, vendor };
  const grant = vendor.way === 'people' ? storedGrants(parts, place) : ownGrants(call);
  return async (method, payload, signal) => {
    if (!isSending(payload)) return call(method, payload, signal);
    const run = async ({ access_token, settings }: Grant) => {
      await parts.hide([access_token]);
      const given = { ...payload.settings, ...settings, oauth: { access_token } };
      return call(method, { ...payload, settings: given }, signal);
    };
    const first = await grant(payload, signal);
    const outcome = await run(first);
    return isUnauthorized(outcome) ? run(await grant(payload, signal, first)) : outcome;
  };
}

function isSending(payload: unknown): payload is Sending {
  return isFields(payload) && isFields(payload['settings']);
}

/** Returns true if the tool accepted nothing of the call because of its token. */
function isUnauthorized(outcome: unknown): boolean {
  const all = (Array.isArray(outcome) ? outcome : [outcome]) as ToolOutcome[];
  return all.length > 0 && all.every((one) => one?.kind === 'denied' && one.status === 401);
}

/** Returns the tokens of the config's connection, read again when they are due. */
function storedGrants(parts: OauthParts, place: OauthPlace): Granting {
  let kept: { grant: Grant; until_ms: number } | undefined;
  return async (_payload, signal, refused) => {
    if (refused === undefined && kept !== undefined && performance.now() < kept.until_ms)
      return kept.grant;
    const found = await currentConnection(parts, place, signal, refused?.generation);
    const { access_token, settings } = found.tokens;
    const grant = { generation: found.generation, access_token, settings };
    const due_in_ms = Math.max(found.due_in_ms ?? Infinity, look_ms_min);
    kept = { grant, until_ms: performance.now() + due_in_ms };
    return grant;
  };
}

/** Returns tokens that the tool fetches with its settings. */
function ownGrants(call: ToolCall): Granting {
  let kept: Promise<Grant> | undefined;
  let generation = 0;
  const fetchGrant = async (payload: Sending, signal: AbortSignal): Promise<Grant> => {
    const answer = await call('refresh', { settings: payload.settings }, signal);
    const outcome = answer as ToolOutcome & { access_token?: string };
    if ('reason' in outcome)
      throw new HoldError(
        `The tool gives no access token: ${outcome.reason} Until then events wait, and none is ` +
          'lost.',
      );
    generation += 1;
    return { generation, access_token: outcome.access_token ?? '', settings: {} };
  };
  return async (payload, signal, refused) => {
    const seen = kept;
    const before = await seen?.catch(() => undefined);
    // One of several denied calls fetches the next token.
    const isOver = before === undefined || before.generation === refused?.generation;
    if (kept === seen && isOver) kept = fetchGrant(payload, signal);
    return kept!;
  };
}
