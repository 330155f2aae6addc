import { parseExact } from '../../engine/ingest/parse/exact_json.ts';
import { parseEvent } from '../../engine/ingest/parse/parse.ts';
import { systemClock } from '../../platform/clock.ts';
import { counted } from '../../platform/counted.ts';
import type { Complaints } from './terminal.ts';
import { presets, suggestFormat } from './formats.ts';
import type { ImportFormat } from './formats.ts';
import type { ImportMapping } from './mapping.ts';
import { readRequests } from './requests.ts';
import type { ImportSource } from './source.ts';

const shown_max = 3;

/**
 * Reads the whole file like an import, shows the first events in their stored form, and names the
 * lines that would be refused. Returns exit code 1 if there are any. Sends nothing.
 */
export async function dryRun(
  source: ImportSource,
  mapping: ImportMapping,
  complaints: Complaints,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<number> {
  let [good, bad, joining] = [0, 0, 0];
  let suggested: ImportFormat | undefined;
  for await (const request of readRequests(source, mapping, 0, complaints)) {
    signal.throwIfAborted();
    bad += request.rejected;
    for (const [index, json] of request.jsons.entries()) {
      const number = request.numbers[index]!;
      if (mapping.format === undefined) suggested ??= suggestFormat(json);
      const { event, problems } = parseEvent(json, systemClock.now());
      if (event === undefined) {
        bad += 1;
        for (const { attr, detail } of problems)
          complaints.line(number, attr === null ? detail : `${attr}: ${detail}`);
        continue;
      }
      if (event.merge !== undefined) joining += 1;
      if (request.joins.has(index)) continue;
      good += 1;
      if (good > shown_max) continue;
      const hasTime = Object.hasOwn(JSON.parse(json) as object, 'timestamp');
      const stored = {
        uuid: event.uuid,
        event: event.event,
        distinct_id: event.distinct_id,
        timestamp: hasTime ? `${event.timestamp.replace(' ', 'T')}Z` : 'when it arrives',
        properties: parseExact(event.properties),
        ...(event.merge === undefined ? {} : { joins: event.merge.other }),
      };
      say(`line ${number}: ${JSON.stringify(stored, null, 2)}`);
    }
  }
  say(
    `${counted(good, 'line')} would become events, ${bad.toLocaleString('en')} would be refused. ` +
      'Nothing was sent.',
  );
  if (joining > 0) say(`${counted(joining, 'event')} would join two persons.`);
  if (suggested !== undefined)
    say(`This looks like an export of ${presets[suggested].title}: try --from ${suggested}.`);
  complaints.rest(bad);
  return bad > 0 ? 1 : 0;
}
