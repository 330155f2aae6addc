import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Seen, WayOut } from './way_out.ts';
import type { ToolExchange, ToolOutcome } from '../tool_outcome.ts';
import { outcomeOfVerdict } from './answers.ts';
import type { KnownAnswers, Verdict } from './answers.ts';
import { askChoices } from './choices.ts';
import type { Asking } from './choices.ts';
import { actionsOf, describe } from './definition.ts';
import type { Definition } from './definition.ts';
import { deletionOf } from './deletion.ts';
import { batchesOf, outcomesOfBatch, togetherOf } from './batch.ts';
import type { Bounds, Member } from './batch.ts';
import { known_answers } from './known_answers.ts';
import { noteClients } from './noted_clients.ts';
import { outcomeOfError, outcomeOfResults } from './outcome.ts';

/** One loaded destination of the library. */
export type Tool = { call(method: string, payload: unknown): Promise<unknown> };

/** Settings and a mapping, as a call needs them. */
type Given = { settings: object; mapping: { partnerAction: string; mapping: object } };
type Sending = Given & { event: object };
/** Events for one mapping, several of which share a request. */
type SendingBatch = Given & { events: object[]; batch: Bounds };
/** A person whom the destination must delete, by one of their ids. */
type Forgetting = { person: object; settings: object };

type Destination = {
  responses: unknown[];
  onEvent(event: object, settings: object, options: Options): Promise<unknown>;
  onBatch(events: object[], settings: object, options: Options): Promise<unknown>;
  onDelete?(person: object, settings: object): Promise<unknown>;
  testAuthentication(settings: object): Promise<void>;
  refreshAccessToken(settings: object, credentials: object): Promise<Refreshed | undefined>;
  executeDynamicField: Parameters<typeof askChoices>[0]['executeDynamicField'];
};
type Options = { features?: Record<string, boolean> };
type Refreshed = { accessToken?: string };
type Core = {
  Destination: new (definition: Definition) => Destination;
  transform(mapping: object, event: object): Record<string, unknown>;
};

/**
 * Loads one destination of the package in the folder. Its name identifies its schemas, which refuse
 * a name with a space: the slug replaces it.
 */
export function openTool(folder: string, directory: string, way_out: WayOut): Tool {
  const require = createRequire(join(folder, 'package.json'));
  way_out.replaceFetch(require);
  noteClients(require, directory, () => way_out.seen());
  const path = `./dist/destinations/${directory}`;
  const definition = (require(path) as { default: Definition }).default;
  const core = require('@segment/actions-core') as Core;
  const named = { ...definition, name: definition.slug ?? directory };
  const destination = new core.Destination({
    ...named,
    ...withoutRefresh(definition),
    ...deletionOf(definition),
    actions: actionsOf(definition),
  });
  const known = Object.hasOwn(known_answers, directory) ? known_answers[directory] : undefined;
  const sender: Sender = { definition, destination, core, way_out, known };
  const methods: Record<string, (payload: never) => unknown> = {
    describe: () => describe(definition),
    refresh: ({ settings }: Forgetting) =>
      runOne(sender, () => refresh(new core.Destination(named), settings)),
    delete: ({ person, settings }: Forgetting) =>
      runOne(sender, () => forget(destination, person, settings)),
    test: ({ settings }: Sending) =>
      runOne(sender, async () => {
        await destination.testAuthentication(settings);
        return { kind: 'sent' };
      }),
    choices: (asking: Asking) =>
      runOne(sender, (seen) =>
        askChoices(destination, asking, seen, optionsOf(sender).features ?? {}),
      ),
    send: (sending: Sending) => sendOne(sender, sending),
    send_batch: (sending: SendingBatch) => sendBatches(sender, sending),
  };
  return { call: async (method, payload) => methods[method]!(payload as never) };
}

type Sender = {
  definition: Definition;
  destination: Destination;
  core: Core;
  way_out: WayOut;
  known: KnownAnswers | undefined;
};

/** Runs work with its own requests, and returns its result. */
function run<Result>(
  { destination, way_out, known }: Sender,
  work: (seen: Seen) => Promise<Result>,
  failed: (outcome: ToolOutcome, seen: Seen) => Result,
): Promise<Result> {
  return way_out.during(way_out.seen()!.instance, async () => {
    const seen = way_out.seen()!;
    seen.known = known;
    try {
      return await work(seen);
    } catch (error) {
      return failed(await outcomeOfError(error, seen), seen);
    } finally {
      // The library would accumulate every answer here.
      destination.responses.length = 0;
    }
  });
}

async function runOne(
  sender: Sender,
  work: (seen: Seen) => Promise<ToolOutcome>,
  verdictOf = ({ read }: Seen) => read.whole,
): Promise<ToolOutcome> {
  const judge = (outcome: ToolOutcome, seen: Seen) =>
    judged(outcome, seen, told(verdictOf(seen), seen));
  const { outcome, refusal, exchanges } = await run(
    sender,
    async (seen) => judge(await work(seen), seen),
    judge,
  );
  if (refusal !== undefined) throw new Error(refusal);
  return { ...outcome, exchanges };
}

function sendOne(sender: Sender, { event, settings, mapping }: Sending): Promise<ToolOutcome> {
  const send = async (seen: Seen) => {
    const given = { ...settings, subscription: mapping };
    const results = await sender.destination.onEvent(event, given, optionsOf(sender));
    return outcomeOfResults(results, seen);
  };
  return runOne(sender, send, ({ read }) => read.whole ?? read.single);
}

function optionsOf({ known }: Sender): Options {
  return known?.features === undefined ? {} : { features: known.features };
}

async function sendBatches(sender: Sender, sending: SendingBatch): Promise<ToolOutcome[]> {
  const { events, batch, settings, mapping } = sending;
  if (sender.definition.actions[mapping.partnerAction]?.performBatch === undefined)
    return Promise.all(events.map((event) => sendOne(sender, { event, settings, mapping })));
  const members = events.map((event, at) => memberOf(sender.core, event, at, sending));
  const judgements: Judged[] = [];
  await Promise.all(
    batchesOf(members, batch).map(async (one) => {
      const all = await sendBatch(sender, one, sending);
      for (const [which, { at }] of one.entries()) judgements[at] = all[which]!;
    }),
  );
  const refusals = judgements.flatMap(({ refusal }) => (refusal === undefined ? [] : [refusal]));
  if (refusals.length === judgements.length) throw new Error(refusals[0]);
  const places = new Map<ToolExchange[], number>();
  return judgements.map(({ outcome, exchanges }, at) => {
    const exchanges_at = places.get(exchanges);
    if (exchanges_at !== undefined) return { ...outcome, exchanges_at };
    places.set(exchanges, at);
    return { ...outcome, exchanges };
  });
}

function sendBatch(
  sender: Sender,
  batch: Member[],
  { settings, mapping }: SendingBatch,
): Promise<Judged[]> {
  const events = batch.map(({ event }) => event);
  const judge = (outcome: ToolOutcome, seen: Seen): Judged => {
    const verdict = told(seen.read.whole, seen);
    return judged(outcome, seen, verdict && togetherOf(verdict, batch.length));
  };
  return run(
    sender,
    async (seen) => {
      const given = { ...settings, subscription: mapping };
      const results = await sender.destination.onBatch(events, given, optionsOf(sender));
      return outcomesOfBatch(results, batch, seen).map((one) => judge(one, seen));
    },
    (outcome, seen) => batch.map(() => judge(togetherOf(outcome, batch.length), seen)),
  );
}

/** If the fields cannot be mapped, the batch fails, and the library reports it. */
function memberOf({ transform }: Core, event: object, at: number, { mapping }: Given): Member {
  try {
    return { at, event, fields: transform(mapping.mapping, event) };
  } catch {
    return { at, event, fields: {} };
  }
}

/**
 * Returns the destination without its own token refresh: a token must be stored before its use, so
 * the server refreshes.
 */
function withoutRefresh({ authentication }: Definition): object {
  return authentication === undefined
    ? {}
    : { authentication: { ...authentication, refreshAccessToken: undefined } };
}

/** Fetches a token with the credentials of the settings. */
async function refresh(
  destination: Destination,
  settings: object,
): Promise<ToolOutcome & { access_token?: string }> {
  const answer = await destination.refreshAccessToken(settings, {});
  return { kind: 'sent', access_token: answer?.accessToken ?? '' };
}

async function forget(
  destination: Destination,
  person: object,
  settings: object,
): Promise<ToolOutcome> {
  if (destination.onDelete === undefined) return { kind: 'skipped' };
  await destination.onDelete(person, settings);
  return { kind: 'sent' };
}

/** An outcome with its requests, and why the server refused one. */
type Judged = {
  outcome: ToolOutcome;
  refusal: string | undefined;
  exchanges: ToolExchange[];
};

/** Returns the verdict on the vendor's answers as an outcome. */
function told(verdict: Verdict | undefined, { retry_after }: Seen): ToolOutcome | undefined {
  return verdict && outcomeOfVerdict(verdict, retry_after);
}

/**
 * Judges by the server's refusal and the known answers of the vendor, whatever the tool returned.
 */
function judged(
  given: ToolOutcome,
  { refusal, exchanges }: Seen,
  verdict: ToolOutcome | undefined,
): Judged {
  const outcome = given.kind === 'skipped' ? given : (verdict ?? given);
  if (outcome.kind === 'sent' || refusal === undefined)
    return { outcome, refusal: undefined, exchanges };
  const refused = { kind: 'refused', status: null, reason: refusal, retry_after: null } as const;
  return { outcome: refused, refusal, exchanges };
}
