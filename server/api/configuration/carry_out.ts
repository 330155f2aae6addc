// Length: the requests of one step, what they refuse, cost and change are one story; its parts have
// no other reader.
import type { Change } from '../../platform/activity/changes.ts';
import { counted } from '../../platform/counted.ts';
import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import type { Violation } from '../../platform/http/errors.ts';
import type { InnerAnswer, InnerRequests } from '../../platform/http/inner/inner_requests.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { countDelivered, listExportIds } from '../batch_exports/store.ts';
import type { Delivered } from '../batch_exports/store.ts';
import type { Candidate, Compared } from './compare.ts';
import type { Home, Request } from './kinds/kind.ts';
import { attrOfPath } from './read.ts';
import type { Placed, Wanted } from './read.ts';
import type { Applied, Cost, FieldChange, Need, Step } from './schema.ts';
import { joinSecrets } from './secret_values.ts';

/** An executed step, with secrets that its route shows only once. */
export type Done = Step & {
  wanted: Wanted | undefined;
  standing: Placed | undefined;
  /** True if a route was called and has recorded it. */
  is_recorded: boolean;
  shown_secret: string | undefined;
};

/** The result of the steps. With violations or needs, the caller rolls everything back. */
export type CarriedOut = {
  steps: Done[];
  violations: Violation[];
  /** Stored secrets that a route requires again, because their address changes. */
  needs: Need[];
  ids: Map<string, string>;
};

/** The context in which steps are executed. */
export type Carrying = {
  db: Queryable;
  inner: InnerRequests;
  organization_id: string;
  prune: boolean;
  /** Returns the note in an object's activity entry, beside its changes. */
  noteOf(path: string, key: string): Change;
};

/**
 * Executes the steps by the routes of the API: creations and changes in the order of the kinds,
 * then deletions in reverse. A difference that the route does not count as a change is no step. If
 * a route refuses, the object gets a violation, and the others continue. Skips faulty objects and
 * the objects that need them.
 */
export async function carryOut(compared: Compared, carrying: Carrying): Promise<CarriedOut> {
  const result: CarriedOut = {
    steps: [],
    violations: [],
    needs: [],
    ids: new Map(compared.ids),
  };
  const unmade = unmadeOf(compared);
  for (const candidate of compared.candidates) {
    if (compared.faulty.has(candidate.wanted.path)) continue;
    if (lacksOthers(candidate.wanted, unmade)) {
      result.steps.push(unrehearsed(candidate));
      unmade.add(candidate.wanted.path);
      continue;
    }
    const done = await carryOne(candidate, carrying, result);
    if (done === 'refused') {
      if (isNeeded(candidate)) unmade.add(candidate.wanted.path);
      result.steps.push(unrehearsed(candidate));
    } else if (done !== undefined) result.steps.push(done);
  }
  if (carrying.prune)
    for (const standing of compared.left.toReversed())
      result.steps.push(await removeOne(standing, carrying, result));
  return result;
}

function unmadeOf({ pairs, faulty }: Compared): Set<string> {
  const unmade = pairs.filter((pair) => faulty.has(pair.wanted.path) && isNeeded(pair));
  return new Set(unmade.map(({ wanted }) => wanted.path));
}

/**
 * Returns true if its fault prevents other objects from being tried; false for objects in an
 * existing project.
 */
function isNeeded({ wanted, standing }: Pick<Candidate, 'wanted' | 'standing'>): boolean {
  return standing === undefined || wanted.kind.name !== 'project';
}

/** Returns a step that no route has checked, without values that may be secret. */
function unrehearsed(candidate: Candidate): Done {
  const { changes, wanted } = candidate;
  return stepOf(
    candidate,
    changes.filter(({ field }) => !wanted.kind.maySealAt(field)),
  );
}

/** Returns true if its container or a reference of it could not be created. */
function lacksOthers(wanted: Wanted, unmade: ReadonlySet<string>): boolean {
  return (
    unmade.has(wanted.parent_path) ||
    wanted.kind.references.some(({ field, kind, within }) =>
      [wanted.fields[field] ?? []]
        .flat()
        .some(
          (key) =>
            typeof key === 'string' && unmade.has(pathOfReference(wanted, kind, within, key)),
        ),
    )
  );
}

async function carryOne(
  candidate: Candidate,
  carrying: Carrying,
  result: CarriedOut,
): Promise<Done | 'refused' | undefined> {
  const { wanted, standing, action } = candidate;
  if (!candidate.differs) return stepOf(candidate, []);
  const home: Home = {
    organization_id: carrying.organization_id,
    parent_id: result.ids.get(wanted.parent_path) ?? '',
  };
  const fields = bodyOf(wanted, result.ids);
  const before = standing === undefined ? undefined : await ledgerOf(carrying.db, standing);
  const requests =
    standing === undefined
      ? wanted.kind.create(home, fields)
      : wanted.kind.change(home, standing, fields);
  const answers = await askAll(requests, carrying, wanted, result);
  if (answers === undefined) return 'refused';
  const created = isFields(answers[0]?.body) ? answers[0].body : {};
  // An invite that is sent again is another invite.
  if (standing === undefined || wanted.kind.name === 'invite')
    result.ids.set(wanted.path, String(created['id']));
  const id = result.ids.get(wanted.path)!;
  const fault = await wanted.kind.faultAfter(carrying.db, id, wanted.fields);
  if (fault !== undefined) {
    result.violations.push({ ...fault, attr: attrOfPath(wanted.path, fault.attr ?? '') });
    return 'refused';
  }
  const changes = shownChanges(candidate, answers);
  if (changes.length === 0 && action === 'change') return undefined;
  const after = standing === undefined ? undefined : await ledgerOf(carrying.db, standing);
  return {
    ...stepOf(candidate, changes),
    id,
    cost: costOf(before, after, action),
    is_recorded: changes.length > 0,
    shown_secret: shownSecret(candidate, created),
  };
}

function shownSecret({ wanted }: Candidate, created: Fields): string | undefined {
  const secret = wanted.kind.name === 'notice_target' ? created['secret'] : undefined;
  return typeof secret === 'string' ? secret : undefined;
}

/**
 * Returns the differences that the route confirms. The route knows the fields that may be secret,
 * so its values are shown; they also replace all others if it names different fields.
 */
function shownChanges(candidate: Candidate, answers: InnerAnswer[]): FieldChange[] {
  const { kind } = candidate.wanted;
  const told = new Map(
    answers.flatMap(({ changes }) => changes.map((one) => [one.field, one] as const)),
  );
  const shown = candidate.changes.flatMap((change) => {
    const name = kind.recordedAs(change.field);
    const said = told.get(name);
    if (kind.maySealAt(change.field)) return said ?? [];
    const isTold =
      candidate.standing === undefined ||
      said !== undefined ||
      [...told.keys()].some((field) => field.startsWith(`${name}.`));
    return isTold ? [change] : [];
  });
  return shown.length > 0 ? shown : [...told.values()];
}

async function removeOne(standing: Placed, carrying: Carrying, result: CarriedOut): Promise<Done> {
  const { kind, id, parent_id, path, name } = standing;
  const before = await endingLedger(carrying.db, standing);
  const { organization_id, inner } = carrying;
  const { method, url, body } = kind.remove({ organization_id, parent_id }, standing);
  const also = [carrying.noteOf(path, standing.key)];
  collect(result, path, undefined, await inner.send(method, url, body, also));
  return {
    action: 'delete',
    kind: kind.name,
    path,
    id,
    name,
    moved_from: null,
    changes: [],
    cost: costOf(before, undefined, 'delete'),
    wanted: undefined,
    standing,
    is_recorded: true,
    shown_secret: undefined,
  };
}

/** Sends the requests in turn; undefined if a route refused one. */
async function askAll(
  requests: Request[],
  { inner, noteOf }: Carrying,
  wanted: Wanted,
  result: CarriedOut,
): Promise<InnerAnswer[] | undefined> {
  const answers: InnerAnswer[] = [];
  const also = [noteOf(wanted.path, wanted.key)];
  for (const { method, url, body } of requests) {
    const first = answers[0]?.body;
    const id = isFields(first) ? String(first['id']) : '';
    const answer = await inner.send(method, url.replace('/:id/', `/${id}/`), body, also);
    if (!collect(result, wanted.path, wanted, answer)) return undefined;
    answers.push(answer);
  }
  return answers;
}

type Problem = { errors: { attr: string | null; code: Violation['code']; detail: string }[] };

/**
 * Adds the refusals of a route at the object's place; returns true if there are none. `needs` lists
 * secrets without a value, also secrets that were to be kept.
 */
function collect(
  result: CarriedOut,
  path: string,
  wanted: Wanted | undefined,
  { status, body }: InnerAnswer,
): boolean {
  if (status < 400) return true;
  const open = new Map(
    Object.entries(wanted?.secrets ?? {}).flatMap(([secret, value]) =>
      'value' in value ? [] : [[secret.replaceAll('.', '__'), { secret, ...value }] as const],
    ),
  );
  for (const { attr, code, detail, ...place } of (body as Problem).errors) {
    const lacking = attr === null ? undefined : open.get(attr);
    if (lacking !== undefined && wanted !== undefined) {
      if ('keep' in lacking)
        result.needs.push({
          code: 'secret',
          kind: wanted.kind.name,
          path: `${path}.${lacking.secret}`,
          reference: null,
          detail,
        });
      continue;
    }
    const field = attr === null ? '' : fieldOf(wanted, attr);
    const hint = isMistakenMark(wanted, attr) ? mark_hint : '';
    const said = { code, detail: `${detail}${hint}` };
    result.violations.push({ ...place, attr: attrOfPath(path, field), ...said });
  }
  return false;
}

const mark_hint = ' Write a secret as {env: NAME}, {file: path} or {keep: true}.';

/** Returns true if the refused value is an object in place of a secret: a mistyped reference. */
function isMistakenMark(wanted: Wanted | undefined, attr: string | null): boolean {
  const secret = wanted?.secrets[(attr ?? '').replaceAll('__', '.')];
  if (secret === undefined || !('value' in secret) || !isFields(secret.value)) return false;
  return Object.keys(secret.value).length === 1;
}

function stepOf(candidate: Candidate, changes: FieldChange[]): Done {
  const { wanted, standing, action, moved_from } = candidate;
  return {
    action,
    kind: wanted.kind.name,
    path: wanted.path,
    id: standing?.id ?? null,
    name: nameOf(wanted, standing),
    moved_from,
    changes: [...takenOver(candidate), ...changes],
    cost: null,
    wanted,
    standing,
    is_recorded: false,
    shown_secret: undefined,
  };
}

/** Returns the change of the managing configuration. */
function takenOver({ action, standing, source }: Candidate): FieldChange[] {
  const before = standing?.managed?.source;
  return action !== 'adopt' || before === undefined
    ? []
    : [{ field: 'managed_by.source', action: 'changed', before, after: source }];
}

function nameOf({ fields }: Wanted, standing: Placed | undefined): string | null {
  return typeof fields['name'] === 'string' ? fields['name'] : (standing?.name ?? null);
}

/** Counts the objects of each action. */
export function summaryOf(steps: readonly Done[], objects: readonly Wanted[]): Applied['summary'] {
  const count = (action: Step['action']) => steps.filter((step) => step.action === action).length;
  const deleted = count('delete');
  return {
    create: count('create'),
    change: count('change'),
    move: count('move'),
    adopt: count('adopt'),
    delete: deleted,
    unchanged: objects.filter((one) => !one.is_reference).length - (steps.length - deleted),
  };
}

/** Returns the path of the object that a key refers to. */
function pathOfReference(
  { parent_path }: Wanted,
  kind: string,
  within: 'project' | 'organization',
  key: string,
): string {
  const section = `${kind}s`;
  return within === 'project' ? `${parent_path}.${section}.${key}` : `${section}.${key}`;
}

/** Returns the name in files for a route's `attr`. */
function fieldOf(wanted: Wanted | undefined, attr: string): string {
  const reference = wanted?.kind.references.find(({ api_field }) => attr.startsWith(api_field));
  return reference === undefined ? attr : attr.replace(reference.api_field, reference.field);
}

/** Returns the fields in the API's form: ids for keys, and the values of secrets. */
function bodyOf(wanted: Wanted, ids: ReadonlyMap<string, string>): Fields {
  const values = Object.entries(wanted.secrets).flatMap(([path, secret]) =>
    'value' in secret ? [[path, secret.value]] : [],
  );
  const fields = { ...joinSecrets(wanted.fields, Object.fromEntries(values) as Fields) };
  for (const { field, api_field, kind, within } of wanted.kind.references) {
    if (!Object.hasOwn(fields, field)) continue;
    const sent = fields[field];
    delete fields[field];
    const idOfKey = (key: unknown) => {
      if (typeof key !== 'string') return key;
      const id = ids.get(pathOfReference(wanted, kind, within, key)) ?? key;
      return /^\d+$/.test(id) ? Number(id) : id;
    };
    fields[api_field] = Array.isArray(sent)
      ? sent.map(idOfKey)
      : sent === null
        ? null
        : idOfKey(sent);
  }
  return fields;
}

/** Counts the deliveries of an export; undefined for other kinds, whose changes cost nothing. */
async function ledgerOf(
  db: Queryable,
  { kind, id }: Pick<Placed, 'kind' | 'id'>,
): Promise<Delivered | undefined> {
  return kind.name === 'batch_export' ? countDelivered(db, [id]) : undefined;
}

/**
 * Counts the deliveries that a deletion removes: for a project, the deliveries of all its exports.
 */
async function endingLedger(
  db: Queryable,
  standing: Pick<Placed, 'kind' | 'id'>,
): Promise<Delivered | undefined> {
  if (standing.kind.name !== 'project') return ledgerOf(db, standing);
  return countDelivered(db, await listExportIds(db, Number(standing.id)));
}

/** Returns the cost of a deletion, or of a change that starts a new revision. */
function costOf(
  before: Delivered | undefined,
  after: Delivered | undefined,
  action: string,
): Cost | null {
  if (before === undefined) return null;
  const { delivered_records, open_runs } = before;
  const rows = counted(delivered_records, 'delivered row');
  const runs = open_runs === 0 ? '' : ` It cancels ${counted(open_runs, 'run')}.`;
  if (action === 'delete')
    return before.exports === 0
      ? null
      : {
          starts_anew: false,
          ledger_ends: true,
          delivered_records,
          open_runs,
          detail:
            `The ledger is deleted. ${rows} stay at the destination and no longer ` +
            `count.${runs}`,
        };
  if (after === undefined || after.revisions === before.revisions) return null;
  return {
    starts_anew: true,
    ledger_ends: false,
    delivered_records,
    open_runs,
    detail:
      `The export restarts. ${rows} no longer count, and a backfill delivers them ` +
      `again.${runs}`,
  };
}
