import { request as send } from 'undici';
import type { Agent } from 'undici';
import { openAnswerCheck } from '../watchers/answers.ts';
import { withHiddenRoutes } from '../watchers/hidden_routes.ts';
import { openRandom } from '../chaos/random.ts';
import type { Harness } from '../harness.ts';
import { openEra } from './era.ts';
import type { Era } from './era.ts';
import { listOperations, openPathFinder } from './operations.ts';
import type { FuzzedDocument, Schema } from './operations.ts';
import { createRequest } from './requests.ts';
import type { FuzzedRequest } from './requests.ts';
import { parseJson } from '../../server/platform/json/parse_json.ts';

/**
 * Requests that share an organization. A request is repeated by repeating its era from the
 * beginning.
 */
export const era_requests = 500;

/**
 * The requests to send: numbers from `from` (at least 0) up to `to` of the seed, several at a time.
 */
export type Campaign = {
  seed: number;
  from: number;
  to: number;
  at_once: number;
  /** Called after each era. */
  tell(progress: Progress): void;
  /** Called for a failure outside of a request. */
  warn(message: string, error: unknown): void;
};

/** The requests sent so far, and their faults: `faults` names requests by their number. */
export type Progress = {
  requests: number;
  statuses: Map<number, number>;
  /** The statuses of each operation of the document. */
  operations: Map<string, Set<number>>;
  /** The statuses of each route that the document leaves out. */
  hidden: Map<string, Set<number>>;
  faults: Fault[];
};

/** An answer that breaks a promise, with its request. */
export type Fault = { number: number; what: string[]; request: FuzzedRequest; answer: string };

/**
 * Sends all requests of a campaign to the address of the server, and checks each answer: no 5xx,
 * and nothing that the document does not declare.
 */
export async function runCampaign(
  harness: Harness,
  address: string,
  agent: Agent,
  campaign: Campaign,
): Promise<Progress> {
  const document = harness.app.swagger() as unknown as FuzzedDocument;
  const whole = withHiddenRoutes(document, harness.hiddenRoutes());
  const operations = listOperations(document);
  const declared = new Set(operations.map(nameOf));
  const hidden = listOperations(whole).filter((one) => !declared.has(nameOf(one)));
  const world = {
    operations,
    hidden,
    resolve: (ref: string) => document.components.schemas[ref.split('/').at(-1)!] as Schema,
    check: openAnswerCheck(whole),
    pathOf: openPathFinder(whole),
  };
  const progress: Progress = {
    requests: 0,
    statuses: new Map(),
    operations: new Map(operations.map((one) => [nameOf(one), new Set()])),
    hidden: new Map(hidden.map((one) => [nameOf(one), new Set()])),
    faults: [],
  };
  const first_era = Math.floor(campaign.from / era_requests);
  for (let start = first_era * era_requests; start < campaign.to; start += era_requests) {
    const era = await openEra(harness).catch((error: unknown) => {
      // On a busy machine, a plugin of the set-up can need more than its second.
      campaign.warn(`the set-up before request ${start} is tried again`, error);
      return openEra(harness);
    });
    let next = start;
    const end = Math.min(start + era_requests, campaign.to);
    const one = async () => {
      while (next < end) {
        const number = next++;
        const random = openRandom(campaign.seed, number);
        const request = createRequest(random, world, era);
        await ask({ address, agent, era, progress, ...world }, number, request);
      }
    };
    await Promise.all(Array.from({ length: campaign.at_once }, one));
    campaign.tell(progress);
  }
  return progress;
}

type Asking = {
  address: string;
  agent: Agent;
  era: Era;
  progress: Progress;
  check: ReturnType<typeof openAnswerCheck>;
  pathOf: ReturnType<typeof openPathFinder>;
};

async function ask(asking: Asking, number: number, request: FuzzedRequest): Promise<void> {
  const { address, agent, era, progress } = asking;
  const { method, path, template, headers, body } = request;
  progress.requests += 1;
  let status = 0;
  let text = '';
  const what: string[] = [];
  try {
    const answer = await send(`${address}${path}`, {
      dispatcher: agent,
      method: method as 'GET',
      headers,
      ...(body === undefined ? {} : { body }),
    });
    status = answer.statusCode;
    text = await answer.body.text();
    const [plain = ''] = path.split('?');
    const content_type = answer.headers['content-type']?.toString();
    if (status >= 500) what.push(`answered ${status}`);
    const found = asking.pathOf(method, plain) ?? plain;
    const name = nameOf({ method, path: found });
    (progress.operations.get(name) ?? progress.hidden.get(name))?.add(status);
    what.push(
      ...asking.check({
        method,
        path: found,
        status,
        content_type,
        text,
      }),
    );
    if (status < 300 && /json$|json;/.test(content_type ?? '') && text !== '')
      era.learn(template, parseJson(text), answer.headers['etag']?.toString());
  } catch (error) {
    what.push(`was not answered: ${error instanceof Error ? error.message : String(error)}`);
  }
  progress.statuses.set(status, (progress.statuses.get(status) ?? 0) + 1);
  if (what.length > 0) progress.faults.push({ number, what, request, answer: text.slice(0, 500) });
}

function nameOf({ method, path }: { method: string; path: string }): string {
  return `${method} ${path}`;
}
