import { domainToUnicode } from 'node:url';
import { openTurns } from '../../../platform/pacing/turns.ts';
import { readCode } from '../sandbox/fault.ts';
import { HoldError } from './hold.ts';
import type { PluginAttachment } from '../sandbox/sandbox.ts';

/**
 * Thrown if a call failed because the plugin may not reach a host that it needs. Its work is valid
 * and waits until the host is allowed.
 */
export class HostNeededError extends HoldError {
  constructor(host: string) {
    super(
      `The plugin may not reach ${host}. Add it to the allowed_hosts of this config. Until ` +
        'then events wait, and none is lost.',
    );
    this.name = 'HostNeededError';
  }
}

/** The parts of a config that can name hosts. */
type Sources = {
  code: string;
  config: Record<string, unknown>;
  attachments: Record<string, PluginAttachment>;
  allowed_hosts: string[];
};

/** The parts of a host's name are no longer. */
const part_length_max = 63;
const letters_and_digits = /[\p{L}\p{N}]+/gu;

/**
 * Returns a function that recognizes hosts that the plugin needs. Each part of the name occurs in
 * the code or the settings, even if the name is composed of both, or the allowed hosts contain it
 * exactly. A host that only an event names does not count: otherwise anybody who may send events
 * could stop the plugin. A look-up is cheap, however long the code is.
 */
export async function openNeededHosts({
  code,
  config,
  attachments,
  allowed_hosts,
}: Sources): Promise<(host: string) => boolean> {
  const files = Object.values(attachments).map(({ contents }) => Buffer.from(contents).toString());
  const words = new Set<string>();
  const turn = openTurns();
  for (const text of [JSON.stringify(config), ...files, readCode(code).text])
    for (const [word] of text.matchAll(letters_and_digits)) {
      if (word.length <= part_length_max) words.add(word.toLowerCase());
      const pause = turn();
      if (pause !== undefined) await pause;
    }
  return (host) =>
    allowed_hosts.some((allowed) => allowed.toLowerCase() === host) ||
    (domainToUnicode(host).match(letters_and_digits) ?? []).every((part) =>
      words.has(part.toLowerCase()),
    );
}
