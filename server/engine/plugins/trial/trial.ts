import { PluginError } from '../plugin.ts';
import type { PreparedPlugin } from '../prepare.ts';
import { fieldsOf } from '../config_schema.ts';
import { describeFailure, mayPass } from '../running/failures.ts';
import { settingsOf } from '../running/loaded_config.ts';
import { HoldError } from '../running/hold.ts';
import type { PluginEvent } from '../running/read_events.ts';
import { sendWebhook } from '../running/code/webhook.ts';
import type { PluginOutbound } from '../sandbox/network/plugin_sockets.ts';
import type { LoadedPlugin, Sandbox } from '../sandbox/sandbox.ts';
import { toolPlace } from '../running/loaded_tool.ts';
import { toolOf } from '../tools/tool.ts';
import { cutText } from './kept.ts';
import { resultOf, runTool } from './tool_trial.ts';
import { openTrialHost } from './trial_host.ts';
import type { TrialEffect, TrialLine } from './trial_host.ts';
import { openTrialRequests } from './trial_requests.ts';
import type { TrialRequest } from './trial_requests.ts';

/** The plugin to try, with its input. */
export type TrialInput = {
  prepared: Pick<PreparedPlugin, 'code' | 'capabilities' | 'manifest' | 'files'>;
  config: Record<string, unknown>;
  allowed_hosts: string[];
  /** The event to send, or the scheduled task to run. */
  work: { event: PluginEvent } | { task: string };
  /** True: the requests of the plugin are sent. */
  sends: boolean;
};

/** Why a call failed; `is_retry`: a running plugin would be called again. */
type TrialError = {
  message: string;
  is_retry: boolean;
  file: string | null;
  line: number | null;
  column: number | null;
};

/** A call of the plugin; `result` is JSON text. */
type TrialCall = {
  method: string;
  milliseconds: number;
  result: string | null;
  error: TrialError | null;
};

/** The course of a trial. */
export type Trial = {
  calls: TrialCall[];
  requests: TrialRequest[];
  refused_hosts: string[];
  effects: TrialEffect[];
  logs: TrialLine[];
  /** Number of requests, effects and lines beyond the listed ones. */
  omitted: number;
};

/** The longest trial: `setupPlugin`, three calls and a request. */
const trial_ms_max = 60_000;

/**
 * Runs a plugin once, like a worker, in a sandbox process of its own. Guarantees: it only sees the
 * given settings, and no stored one; its effects are not stored; no request leaves the server
 * without `sends`. A fault of the plugin is a part of the result.
 */
export async function tryPlugin(
  {
    sandbox,
    outbound,
  }: { sandbox: Pick<Sandbox, 'loadAlone' | 'toolLibrary'>; outbound: PluginOutbound },
  { prepared, config, allowed_hosts, work, sends }: TrialInput,
): Promise<Trial> {
  const definition = toolOf(prepared.files);
  const { services, logs, effects, refused_hosts, omitted } = openTrialHost();
  const way = openTrialRequests(outbound, sends);
  const calls: TrialCall[] = [];
  const signal = AbortSignal.timeout(trial_ms_max);
  const begin = openCalls(calls, signal);
  const setup = begin('setupPlugin');
  const settings = settingsOf(fieldsOf(prepared.manifest?.config_schema), config);
  const call = async (method: string, run: () => Promise<unknown>) => {
    const begun = begin(method);
    return run().then(begun.ended, begun.failed);
  };
  const run = async () =>
    sandbox.loadAlone(
      {
        id: 'a trial',
        code: prepared.code.server ?? '',
        ...(definition === undefined
          ? settings
          : { config: {}, ...toolPlace(sandbox, definition, 'a trial') }),
        allowed_hosts,
        host: services,
        outbound: way,
      },
      signal,
      async (plugin) => {
        setup.ended(undefined);
        if (definition !== undefined && 'event' in work)
          return runTool(
            { plugin, definition, config: settings.config, event: work.event, sends, signal },
            call,
          );
        return runOnce(plugin, work, {
          call,
          send: webhookOf(way, allowed_hosts, signal),
          signal,
        });
      },
    );
  await run().catch(setup.failed);
  if (calls[0]!.error === null && !prepared.capabilities.methods.includes('setupPlugin'))
    calls.shift();
  return {
    calls,
    requests: way.requests,
    refused_hosts: [...refused_hosts],
    effects,
    logs,
    omitted: omitted() + way.omitted(),
  };
}

/** Returns the function that sends the request of `composeWebhook`. */
function webhookOf(way: PluginOutbound, allowed_hosts: string[], signal: AbortSignal) {
  return async (composed: unknown) =>
    resultOf(await sendWebhook(way, { allowed_hosts, needsHost: () => true }, composed, signal));
}

type Noted<Result> = Promise<{ result: Result } | undefined>;

/** Runs the task, or sends the event like a worker; the first fault ends it. */
async function runOnce(
  plugin: LoadedPlugin,
  work: TrialInput['work'],
  {
    call,
    send,
    signal,
  }: {
    call: (method: string, run: () => Promise<unknown>) => Noted<unknown>;
    send: (composed: unknown) => Promise<string>;
    signal: AbortSignal;
  },
): Promise<void> {
  const run = (method: string, payload: unknown) =>
    call(method, () => plugin.call(method, payload, signal));
  if ('task' in work) {
    await run(work.task, null);
    return;
  }
  const has = (name: string) => plugin.capabilities.methods.includes(name);
  const processed = has('processEvent')
    ? await run('processEvent', work.event)
    : { result: work.event };
  if (processed === undefined || processed.result === null) return;
  if (has('exportEvents') && (await run('exportEvents', [processed.result])) === undefined) return;
  if (has('onEvent') && (await run('onEvent', processed.result)) === undefined) return;
  if (!has('composeWebhook')) return;
  const composed = await run('composeWebhook', processed.result);
  if (composed !== undefined) await call('the webhook', () => send(composed.result));
}

/**
 * Returns a function that records the start of a call, and returns the one that records its end.
 * Rethrows faults that the plugin did not cause.
 */
function openCalls(calls: TrialCall[], signal: AbortSignal) {
  return (method: string) => {
    const began_at = performance.now();
    const noted: TrialCall = { method, milliseconds: 0, result: null, error: null };
    calls.push(noted);
    const end = () => {
      noted.milliseconds = Math.round(performance.now() - began_at);
    };
    return {
      ended: <Result>(result: Result): { result: Result } => {
        end();
        if (result !== undefined) noted.result = cutText(JSON.stringify(result));
        return { result };
      },
      failed: (error: unknown): undefined => {
        end();
        noted.error = errorOf(error, signal);
      },
    };
  };
}

function errorOf(error: unknown, signal: AbortSignal): TrialError {
  const nowhere = { file: null, line: null, column: null };
  if (signal.aborted)
    return { message: 'The trial took longer than 60 s.', is_retry: false, ...nowhere };
  if (error instanceof HoldError)
    return { message: describeFailure(error), is_retry: true, ...nowhere };
  if (!(error instanceof PluginError)) throw error;
  const { message, file = null, line = null, column = null } = error;
  return { message, is_retry: mayPass(error), file, line, column };
}
