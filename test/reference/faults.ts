import { Ajv } from 'ajv';
import { api_reference } from '../../server/api/reference/reference.ts';
import type { Example } from '../../server/platform/http/openapi/reference.ts';
import { listOperations } from '../fuzz/operations.ts';
import type { FuzzedDocument, Operation } from '../fuzz/operations.ts';
import { openAnswerCheck } from '../watchers/answers.ts';

const rejecting = 'it needs a database that refuses a row';

/** Operations that no story can call, and why. */
export const without_example: Record<string, string> = {
  organizations_batch_exports_runs_redeliver_rejected_create: rejecting,
  projects_batch_exports_runs_redeliver_rejected_create: rejecting,
  projects_plugin_configs_oauth_collection_connect_create: 'it needs the browser of a session',
  projects_plugin_configs_oauth_collection_disconnect_create:
    'a vendor connected the tool, in a browser',
  single_sign_on_link_create: 'its token comes from a provider, in a browser that was sent there',
};

/** The operations with an example: those of the API, without those for SDKs. */
export function listExampled(document: object): (Operation & { tag: string })[] {
  return listOperations(document as FuzzedDocument)
    .map((operation) => ({ ...operation, tag: operation.tags[0] ?? '' }))
    .filter(({ tag }) => !api_reference.apart.tags.includes(tag));
}

/**
 * Finds faults of examples, with a sentence each by operation: an example is missing, does not fit
 * its schemas, or belongs to no operation.
 */
export function findFaults(
  document: object,
  examples: Record<string, Example>,
): Map<string, string> {
  const operations = listExampled(document);
  const check = openCheck(document as FuzzedDocument);
  const faults = new Map<string, string>();
  for (const operation of operations) {
    const example = examples[operation.id];
    const told = example === undefined ? missing(operation) : check(operation, example);
    if (told !== undefined) faults.set(operation.id, told);
  }
  const known = new Set(operations.map(({ id }) => id));
  for (const id of Object.keys(examples))
    if (!known.has(id)) faults.set(id, `${id} is no operation any more: npm run docs:examples.`);
  return faults;
}

function missing({ id, method, path }: Operation): string | undefined {
  return id in without_example
    ? undefined
    : `${method} ${path} has no example. Let a story of test/reference/ ask it once with ` +
        'success, then run `npm run docs:examples`.';
}

function openCheck(document: FuzzedDocument) {
  const checkAnswer = openAnswerCheck(document);
  const ajv = new Ajv({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'document', components: document.components });
  const rooted = (schema: object) =>
    JSON.parse(
      JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/'),
    ) as object;
  return (operation: Operation, { path = {}, body, status, answer }: Example) => {
    const { method, path: template } = operation;
    const content_type = answer === undefined ? undefined : 'application/json';
    const text = answer === undefined ? '' : JSON.stringify(answer);
    const found = checkAnswer({ method, path: template, status, content_type, text });
    for (const [, name] of template.matchAll(/\{(\w+)\}/g))
      if (!Object.hasOwn(path, name!)) found.push(`the example has no ${name}`);
    if (body !== undefined && operation.body === undefined) found.push('the operation has no body');
    if (body !== undefined && operation.body !== undefined) {
      const validate = ajv.compile(rooted(operation.body));
      if (!validate(body)) found.push(`the body ${ajv.errorsText(validate.errors)}`);
    }
    return found.length === 0
      ? undefined
      : `The example of ${method} ${template} does not fit: ${found.join('; ')}. Run ` +
          '`npm run docs:examples`.';
  };
}
