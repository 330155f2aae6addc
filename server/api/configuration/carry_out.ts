import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import type { Change } from '../../platform/activity/changes.ts';
import type { Violation } from '../../platform/http/errors.ts';
import type { InnerAnswer, InnerRequests } from '../../platform/http/inner/inner_requests.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { costOf, endingLedger, ledgerOf } from './cost.ts';
import type { Judged } from './judge.ts';
import type { Home, Request } from './kinds/kind.ts';
import { bodyOf, fieldOf, pathOfReference } from './request_fields.ts';
import type { FieldChange, Need, Step } from './schema.ts';
import type { Placed } from './standing.ts';
import type { Candidate } from './steps.ts';
import { attrOfPath } from './wanted.ts';
import type { Wanted } from './wanted.ts';

/** A step that was carried out, with what its route showed once. */
export type Done = Step & {
  wanted: Wanted | undefined;
  standing: Placed | undefined;
  /** Whether a route was asked, and so has recorded it. */
  is_recorded: boolean;
  shown_secret: string | undefined;
};

/** What came of the steps. With violations or needs nothing may be kept. */
export type CarriedOut = {
  steps: Done[];
  violations: Violation[];
  /** Secrets that are stored and that a route wants anew, because where they go changes. */
  needs: Need[];
  ids: Map<string, string>;
};

/** With what steps are carried out. */
export type Carrying = {
  db: Queryable;
  inner: InnerRequests;
  organization_id: string;
  prune: boolean;
  /** What the log says of an object besides what changed. */
  noteOf(path: string, key: string): Change;
};

/**
 * Carries the steps out by the routes of the API: what is created or changed in the order of the
 * kinds, then what is deleted, the other way round. A difference that the route does not count is
 * no step. What a route refuses is a violation at the object's place, and the others go on. What is
 * faulty is left out, with what needs it.
 */
export async function carryOut(judged: Judged, carrying: Carrying): Promise<CarriedOut> {
  const result: CarriedOut = {
    steps: [],
    violations: [],
    needs: [],
    ids: new Map(judged.ids),
  };
  const unmade = unmadeOf(judged);
  for (const candidate of judged.candidates) {
    if (judged.faulty.has(candidate.wanted.path)) continue;
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
    for (const standing of judged.left.toReversed())
      result.steps.push(await removeOne(standing, carrying, result));
  return result;
}

function unmadeOf({ pairs, faulty }: Judged): Set<string> {
  const unmade = pairs.filter((pair) => faulty.has(pair.wanted.path) && isNeeded(pair));
  return new Set(unmade.map(({ wanted }) => wanted.path));
}

/** Whether its fault keeps others from being tried: what lies in a project that stands is. */
function isNeeded({ wanted, standing }: Pick<Candidate, 'wanted' | 'standing'>): boolean {
  return standing === undefined || wanted.kind.name !== 'project';
}

/** A step of which no route said anything: what may be secret is left out. */
function unrehearsed(candidate: Candidate): Done {
  const { changes, wanted } = candidate;
  return stepOf(
    candidate,
    changes.filter(({ field }) => !wanted.kind.maySealAt(field)),
  );
}

/** Whether what it lies in or refers to could not be created. */
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
  // An invite that is sent again is another one.
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
 * What differs, as far as the route says so too. Of fields that may be secret the route knows, and
 * its words are taken; so are all of them where it has others for what differs.
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

/** Asks the routes in turn; undefined when one refused. */
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
 * Takes over what a route refused, at the object's place; true when it refused nothing. What a
 * secret lacks that nobody has given yet is told by `needs`; so is one that was to be kept.
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

const mark_hint = ' A secret that stands elsewhere is {env: NAME}, {file: path} or {keep: true}.';

/** Whether what was refused is an object in place of a secret text: a mark with a slip in it. */
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

/** That another configuration manages it so far. */
function takenOver({ action, standing, source }: Candidate): FieldChange[] {
  const before = standing?.managed?.source;
  return action !== 'adopt' || before === undefined
    ? []
    : [{ field: 'managed_by.source', action: 'changed', before, after: source }];
}

function nameOf({ fields }: Wanted, standing: Placed | undefined): string | null {
  return typeof fields['name'] === 'string' ? fields['name'] : (standing?.name ?? null);
}
