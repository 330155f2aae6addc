import { createSecretKey } from 'node:crypto';
import type { EventProblem } from '../parse/event.ts';
import type { JsonObject } from '../parse/exact_json.ts';
import { applyRules } from './apply_rules.ts';
import { matches, patternOf } from './rule.ts';
import type { Rule } from './rule.ts';
import { isOpenPlan, openPlanCheck } from './tracking_plan.ts';
import type { TrackingPlan } from './tracking_plan.ts';
import { withDevice } from './user_agent.ts';

/** A project's rules for its events before they are stored. */
export type Wishes = {
  /** The enabled rules, in order. */
  rules: Rule[];
  /** Base64; null if the project never had a rule that hashes. */
  hash_key: string | null;
  fill_device_properties: boolean;
  plan: TrackingPlan;
};

/**
 * A project's wishes in the form that requests pass to threads: `text` is their JSON. `hides`:
 * rules drop or hash values, so original values may not be stored anywhere.
 */
export type Intake = { team_id: number; text: string; hides: boolean };

/** The outcome for the properties of an event. */
export type Judged =
  | {
      properties: JsonObject;
      /** Ids of rules, and `user_agent`. */
      changed_by: string[];
      /** A tolerated difference from the plan. */
      off_plan: string | undefined;
      dropped_by?: undefined;
      problem?: undefined;
    }
  | { dropped_by: string; problem?: undefined }
  | { problem: EventProblem; dropped_by?: undefined };

/** Judges an event by its project's wishes; `user_agent` is the sending browser's. */
export type Judge = (
  event: string,
  properties: JsonObject,
  user_agent: string | undefined,
) => Judged;

/** The source of a change that no rule made. */
const user_agent_source = 'user_agent';

/** Returns the wishes as an intake; undefined if they change no event. */
export function intakeOf(team_id: number, wishes: Wishes): Intake | undefined {
  const { rules, fill_device_properties, plan } = wishes;
  if (rules.length === 0 && !fill_device_properties && isOpenPlan(plan)) return undefined;
  const hides = rules.some(
    ({ action }) => action === 'drop_property' || action === 'hash_property',
  );
  return { team_id, text: JSON.stringify(wishes), hides };
}

/** The judges of the most recent projects. */
const opened = new Map<number, { text: string; judge: Judge }>();
const opened_max = 200;
/** Most event names with cached rules. */
const names_max = 2_000;

/** Opens the judge of an intake; returns the cached one if nothing has changed. */
export function openJudge({ team_id, text }: Intake): Judge {
  const known = opened.get(team_id);
  if (known?.text === text) return known.judge;
  if (opened.size >= opened_max) opened.clear();
  const judge = judgeOf(JSON.parse(text) as Wishes);
  opened.set(team_id, { text, judge });
  return judge;
}

/** Returns the judge of wishes, without a cache. */
export function judgeOf({ rules, hash_key, fill_device_properties, plan }: Wishes): Judge {
  const key = hash_key === null ? undefined : createSecretKey(Buffer.from(hash_key, 'base64'));
  const check = isOpenPlan(plan) ? undefined : openPlanCheck(plan);
  const rulesOf = openRulesOf(rules);
  return (event, given, user_agent) => {
    const told = fill_device_properties ? withDevice(given, user_agent) : given;
    const mine = rulesOf(event);
    const ruled =
      mine.length === 0 ? { properties: told, changed_by: [] } : applyRules(mine, event, told, key);
    if (ruled.dropped_by !== undefined) return ruled;
    const difference = check?.(event, ruled.properties);
    if (difference?.mode === 'refuse')
      return {
        problem: { attr: difference.attr, code: 'invalid_input', detail: difference.detail },
      };
    return {
      properties: ruled.properties,
      changed_by: told === given ? ruled.changed_by : [user_agent_source, ...ruled.changed_by],
      off_plan: difference?.detail,
    };
  };
}

function openRulesOf(rules: Rule[]): (event: string) => Rule[] {
  const patterns = rules.map((rule) => ({ rule, names: rule.events.map(patternOf) }));
  const known = new Map<string, Rule[]>();
  return (event) => {
    const found = known.get(event);
    if (found !== undefined) return found;
    const mine = patterns
      .filter(({ names }) => names.length === 0 || names.some((name) => matches(name, event)))
      .map(({ rule }) => rule);
    if (known.size >= names_max) known.clear();
    known.set(event, mine);
    return mine;
  };
}
