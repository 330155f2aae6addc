import assert from 'node:assert/strict';
import type {
  CheckStep,
  DestinationDefinition,
  Sink,
  SliceOutcome,
} from '../../server/engine/model/destination/destination.ts';
import type { Difference } from '../../server/engine/model/destination/difference.ts';
import { openLog } from '../../server/platform/log.ts';
import type { Logger } from '../../server/platform/log.ts';

/** Shorter ones occur by chance. */
const secret_length_min = 10;

type Part = { key: string; text: string };
type Heard = { kind: string; text: string };

/**
 * Knows the secrets of every config that a destination was given, and all that it said or keeps
 * meanwhile: `search` fails when the one is in the other.
 */
export class PlantedConfigs {
  /** Writes lines as the server does, of every level, to where `search` looks. */
  readonly log: Logger = openLog('trace', 'json', {
    write: (line) => this.hear('a line of the log', line),
  });
  private readonly parts = new Map<string, string>();
  private readonly keys = new Set<string>();
  private readonly heard: Heard[] = [];

  /**
   * Remembers what of a config nobody may read; fails when a secret is too short to be told from
   * chance.
   */
  plant(
    { secrets }: Pick<DestinationDefinition, 'secrets'>,
    config: Record<string, unknown>,
  ): void {
    for (const { key, text } of secrets.flatMap((name) => partsOf(name, config[name]))) {
      this.keys.add(key);
      assert.ok(
        text.length >= secret_length_min,
        `the secret of the key ${key} is too short to be recognised: give it ` +
          `${secret_length_min} characters`,
      );
      for (const form of formsOf(text, config)) this.parts.set(form, key);
    }
  }

  /** Remembers a text, or the text of an object as JSON. */
  hear(kind: string, said: unknown): void {
    this.heard.push({ kind, text: typeof said === 'string' ? said : JSON.stringify(said) });
  }

  /**
   * Remembers the texts of an error and of everything that caused it; the stack holds its name and
   * message.
   */
  private hearError(error: unknown): void {
    for (let at = error, depth = 0; at instanceof Error && depth < 16; at = at.cause, depth += 1) {
      this.hear(
        'an error',
        `${String(at.stack)}\n${at.message}\n${String((at as { code?: unknown }).code)}`,
      );
      if (at instanceof AggregateError) for (const inner of at.errors) this.hearError(inner);
    }
  }

  /** Returns the result of `work`; remembers its rejection. */
  async hearing<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      this.hearError(error);
      throw error;
    }
  }

  /** The same sink, with all that it throws and keeps remembered. */
  listen(sink: Sink): Sink {
    const kept = (outcomes: SliceOutcome[]) => {
      this.hear('the outcome of a slice', outcomes);
      return outcomes;
    };
    return {
      isCommitted: () => this.hearing(() => sink.isCommitted()),
      recover: (outcomes) => this.hearing(async () => kept(await sink.recover(outcomes))),
      write: (slice, bytes) =>
        this.hearing(async () => {
          const written = await sink.write(slice, bytes);
          this.hear('the outcome of a slice', written);
          return written;
        }),
      commit: (outcomes, manifest) => this.hearing(() => sink.commit(outcomes, manifest)),
      abort: (outcomes) => this.hearing(() => sink.abort(outcomes)),
      close: () => this.hearing(() => sink.close()),
    };
  }

  /** The same steps or differences, remembered. */
  told<Said extends CheckStep[] | Difference[]>(kind: string, said: Said): Said {
    this.hear(kind, said);
    return said;
  }

  /**
   * Fails when a secret is in anything that was heard, when a key of `keys` was never planted, or
   * when nothing of one of the `kinds` was heard.
   */
  search({ keys, kinds }: { keys: readonly string[]; kinds: string[] }): void {
    assert.deepEqual(
      keys.filter((key) => !this.keys.has(key)),
      [],
      'these keys have no secret in any config of the tests',
    );
    assert.deepEqual(
      kinds.filter((kind) => !this.heard.some((heard) => heard.kind === kind)),
      [],
      'nothing of the kind was heard',
    );
    for (const { kind, text } of this.heard)
      for (const [form, key] of this.parts)
        if (text.includes(form))
          assert.fail(`${kind} holds the secret of the key ${key}: ${shown(text, form)}`);
  }
}

/** Around the secret, which is not repeated. */
function shown(text: string, form: string): string {
  const at = text.indexOf(form);
  const end = at + form.length;
  return `${text.slice(Math.max(0, at - 120), at)}[here]${text.slice(end, end + 40)}`;
}

/**
 * The secrets under a key. They are texts at any depth, each line of a private key, the key in the
 * JSON of an account, and what follows the name in a connection string or a signature.
 */
function partsOf(key: string, value: unknown): Part[] {
  if (typeof value === 'object' && value !== null)
    return Object.values(value).flatMap((inner) => partsOf(key, inner));
  if (typeof value !== 'string') return [];
  if (value.startsWith('{')) {
    const { private_key, private_key_id } = JSON.parse(value) as Record<string, unknown>;
    return [...partsOf(key, private_key), ...partsOf(key, private_key_id)];
  }
  const lines = value.includes('-----BEGIN')
    ? value
        .split('\n')
        .filter((line) => line.length > secret_length_min && !line.startsWith('-----'))
    : [];
  const named = [...value.matchAll(/(?:AccountKey=|\bsig=)([^;&]+)/g)].map((match) => match[1]!);
  const parts = lines.length > 0 ? lines : named.length > 0 ? named : [value];
  return parts.map((text) => ({ key, text }));
}

/**
 * The forms in which a secret travels: as it is, escaped for JSON or an address, in base 64 alone
 * or behind the user's name.
 */
function formsOf(text: string, { user }: Record<string, unknown>): string[] {
  const encoded = (bytes: string) => Buffer.from(bytes).toString('base64').replace(/=+$/, '');
  return [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text),
    decodeURIComponent(text.replace(/%(?![0-9a-fA-F]{2})/g, '%25')),
    encoded(text),
    encoded(`${String(user)}:${text}`),
  ];
}
