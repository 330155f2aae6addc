import type { OthersChange } from '../../form/others_change.ts';
import { differingNames, valuesNamed } from '../../form/values.ts';
import { draftOf } from './draft.ts';
import type { Base, Draft } from './draft.ts';

/**
 * Returns the draft, based on `before`, as a draft of the export that somebody else has stored
 * meanwhile: typed values stay, other fields take the stored values.
 */
export function draftOver(
  draft: Draft,
  before: Base | undefined,
  now: Base | undefined,
  zone: string,
): Draft {
  const old: Record<string, unknown> = draftOf(before, zone);
  const typed = Object.entries(draft).filter(([name, value]) => value !== old[name]);
  return { ...draftOf(now, zone), ...Object.fromEntries(typed) };
}

/** Lists the fields that others have changed since `before`. */
export function othersChangeOf(
  draft: Draft,
  before: Base | undefined,
  now: Base | undefined,
  zone: string,
): OthersChange {
  const [old, theirs] = [storedTexts(before, zone), storedTexts(now, zone)];
  const names = differingNames(old, theirs);
  const shown = { ...old, ...shownTexts(draft, draft.typed) };
  const typed = differingNames(old, shown);
  const clashes = differingNames(shown, theirs).filter((name) => typed.includes(name));
  return { names, theirs: valuesNamed(theirs, clashes) };
}

function storedTexts(base: Base | undefined, zone: string): Record<string, string> {
  return shownTexts(draftOf(base, zone), base?.destination.config ?? {});
}

function shownTexts({ type, typed: _, is_query, allow_empty, ...texts }: Draft, config: object) {
  const of_config = Object.entries(config).map(([key, value]: [string, unknown]) => [
    `destination__config__${key}`,
    typeof value === 'string' ? value : textOf(value),
  ]);
  const custom_query = is_query ? texts.custom_query : '';
  const own = { custom_query, allow_empty: String(allow_empty), destination: type };
  const named: Record<string, string> = { ...texts, ...own };
  return { ...named, ...(Object.fromEntries(of_config) as Record<string, string>) };
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join('\n') : JSON.stringify(value ?? '');
}
