import type { ToolOutcome } from '../tool_outcome.ts';

/**
 * A fact about a vendor's answers that the status does not show. It matches by status, and by a
 * value of the JSON or, without `path`, by the whole text.
 */
export type AnswerRule = {
  status?: number[];
  /** The path of the value, as in `error.code`. */
  path?: string;
  /** The value is one of these. */
  is?: (string | number)[];
  /** The value begins with this. */
  begins?: string;
  /** There is a value, but none of these. */
  not?: (string | number)[];
  /** `paced`: only the pace was wrong. `person`: only the pace of the event's own person. */
  means: 'refused' | 'denied' | 'retry' | 'paced' | 'person';
  /** The path of the vendor's message. */
  reason?: string;
  /** The vendor's documented pause, if its answer names none. */
  rest_seconds?: number;
};

/** Results of single events in the answer to a batch. */
type MemberRule = {
  status: number[];
  /** The path of the list. */
  list: string;
  /**
   * The key of the event's position in the batch; without it, the list has an entry for each event.
   */
  at?: string;
  /** The key of an entry's status; without it, each entry is a refusal. */
  code?: string;
  /** Keys of the vendor's message. */
  reason: string[];
  /** The event field that an entry, a plain value, refers to. */
  field?: string;
};

/** The known answers of one vendor. */
export type KnownAnswers = {
  /** Rules for every call. */
  whole?: AnswerRule[];
  /** Rules for calls of one event. */
  single?: AnswerRule[];
  members?: MemberRule[];
  /** Switches that make the library read answers. */
  features?: Record<string, boolean>;
};

/** A verdict on a call or an event, from the vendor's message. */
export type Verdict = {
  kind: 'refused' | 'denied' | 'retry';
  status: number;
  reason: string;
  rest_seconds: number | undefined;
};

/** A refused event of a batch: by its position, or by the value of one of its fields. */
type RefusedMember = { status: number; reason: string } & (
  | { at: number }
  | { field: string; value: unknown }
);

/** The answers of a call that match rules. */
export type ReadAnswers = {
  whole: Verdict | undefined;
  single: Verdict | undefined;
  members: RefusedMember[];
};

/** Reads an answer by the rules; an earlier result stays. */
export function readAnswer(
  known: KnownAnswers,
  status: number,
  text: string,
  read: ReadAnswers,
): void {
  const json = parsed(text);
  const answer = { status, text, json };
  read.whole ??= verdictBy(known.whole, answer);
  read.single ??= verdictBy(known.single, answer);
  for (const rule of known.members ?? [])
    if (rule.status.includes(status)) read.members.push(...membersBy(rule, json));
}

/** Returns the verdict as an outcome. */
export function outcomeOfVerdict(
  { kind, status, reason, rest_seconds }: Verdict,
  retry_after: string | undefined,
): Extract<ToolOutcome, { reason: string }> {
  const rest = rest_seconds === undefined ? null : String(rest_seconds);
  return { kind, status, reason, retry_after: retry_after ?? rest };
}

type Answer = { status: number; text: string; json: unknown };

function verdictBy(rules: AnswerRule[] | undefined, answer: Answer): Verdict | undefined {
  const rule = rules?.find((one) => fits(one, answer));
  if (rule === undefined) return undefined;
  const { status, text, json } = answer;
  const words = rule.reason === undefined ? undefined : valueAt(json, rule.reason);
  const told = words === undefined ? text.trim() : textOf(words);
  const reason = told === '' ? `It answered ${status}.` : `It answered ${status}: ${told}`;
  const { means, rest_seconds } = rule;
  if (means === 'paced') return { kind: 'retry', status: 429, reason, rest_seconds };
  // Too Early: a limit of one person delays nobody else.
  if (means === 'person') return { kind: 'retry', status: 425, reason, rest_seconds };
  const failed = { refused: 400, denied: 401, retry: 503 }[means];
  return { kind: means, status: status < 400 ? failed : status, reason, rest_seconds };
}

function fits(rule: AnswerRule, answer: Answer): boolean {
  const { status: statuses, path, is, begins, not } = rule;
  const { status, text, json } = answer;
  if (statuses !== undefined && !statuses.includes(status)) return false;
  const value = path === undefined ? text.trim() : valueAt(json, path);
  if (is !== undefined) return is.includes(value as string);
  if (begins !== undefined) return typeof value === 'string' && value.startsWith(begins);
  if (not !== undefined) return value !== undefined && !not.includes(value as string);
  return true;
}

function membersBy(rule: MemberRule, json: unknown): RefusedMember[] {
  const { list, at, code, reason, field } = rule;
  const found = valueAt(json, list);
  return (Array.isArray(found) ? found : []).flatMap((entry: unknown, place): RefusedMember[] => {
    const status = code === undefined ? 400 : Number(valueAt(entry, code));
    if (!(status >= 400)) return [];
    if (field !== undefined) return [{ field, value: entry, status, reason: reason.join(' ') }];
    const words = reason.map((key) => valueAt(entry, key)).filter((word) => word !== undefined);
    const told = words.length === 0 ? 'It refused the event.' : words.map(textOf).join(': ');
    const index = at === undefined ? place : Number(valueAt(entry, at));
    return [{ at: index, status, reason: told }];
  });
}

/** Returns the value at a path of names and positions; only own properties. */
function valueAt(value: unknown, path: string): unknown {
  let at = value;
  for (const key of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
