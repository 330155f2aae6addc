// Length: what a destination brings to the contract, and how rows go there.
import { Readable } from 'node:stream';
import type {
  CheckStep,
  DeliveredSlices,
  Delivery,
  DestinationDefinition,
  DestinationDeps,
  Sink,
  SliceOutcome,
} from '../../server/engine/model/destination/destination.ts';
import type { Difference } from '../../server/engine/model/destination/difference.ts';
import type { Column } from '../../server/engine/model/models/column.ts';
import type { Encoding } from '../../server/engine/model/destination/encoding.ts';
import type { ContentSource } from '../../server/engine/model/destination/content_source.ts';
import { freshDelivery } from '../factories/batch_exports/deliveries.ts';
import { encodeStage } from '../../server/engine/destinations/formats/encode_stage.ts';
import { readCsv } from '../../server/engine/destinations/formats/text/read_csv.ts';
import { content_encoding, selectFor } from '../../server/engine/destinations/formats/select.ts';
import { openClickHouseBytes } from '../servers/databases/clickhouse_bytes.ts';
import type { ClickHouseBytes } from '../servers/databases/clickhouse_bytes.ts';
import {
  contractColumns,
  contractRows,
  contractTable,
  expectedRow,
  insertRows,
  large_position,
  large_row,
} from '../factories/batch_exports/contract_rows.ts';
import type { Mistake, WrongKey } from './wrong_configs.ts';
import { PlantedConfigs } from '../watchers/planted_configs.ts';
import type { SourceRow } from '../factories/batch_exports/contract_rows.ts';
import { generated_position } from '../factories/events/generated_rows.ts';

/** A destination's config as a user sends it. */
export type Config = Record<string, unknown>;

/** The parts of the contract that a destination's own test provides. */
export type DestinationUnderTest = {
  definition: DestinationDefinition;
  /** Called once before the tests. */
  start(): Promise<DestinationDeps>;
  stop(): Promise<void>;
  /** The project and export of deliveries, if they must exist. */
  owner?(): Pick<Delivery, 'team_id' | 'batch_export_id'>;
  /** Returns a valid config of a new, empty place. */
  configure(): Promise<Config>;
  /** Returns more valid configs of the same place, for the secrets that the first one lacks. */
  alternatives?(config: Config): Promise<Config[]>;
  /** Secret keys that another test file of the destination plants. */
  planted_elsewhere?: readonly string[];
  /** Returns all rows that a reader sees at the place, in order, in the form of `expectedRow`. */
  readBack(config: Config): Promise<Record<string, unknown>[]>;
  /** Returns everything at the place except rows: temporary files, open uploads, tables. */
  leftovers(config: Config): Promise<string[]>;
  /**
   * Returns configs that cannot work for this destination alone, each with the code of the error
   * that `open`, `write` or `commit` must throw. Creates the objects that those of
   * `wrong_configs.ts` need.
   */
  misconfigure(config: Config): Promise<Mistake[]>;
  /** Keys that the schema or `validate` must refuse besides those of `wrong_configs.ts`. */
  invalid: WrongKey[];
  /**
   * Changes the place behind the destination's back, for `verify`. `value` changes the row with the
   * event `plain` and the properties `{"a":1}` to `plane` and `{"a":2}`.
   */
  damage: Record<
    'changed' | 'missing' | 'added' | 'value',
    (config: Config, outcomes: SliceOutcome[]) => Promise<void>
  >;
  /**
   * True if the place keeps no order of rows; they are then compared in the order of their uuids.
   */
  is_unordered?: true;
  /** True if nothing is kept, so that nothing can be read again or differ. */
  keeps_nothing?: true;
  /** The code of the final error for a property of 10 MB, if the store cannot hold one. */
  large_refused_as?: string;
  /**
   * The other test that covers a property of 10 MB; this one then only runs in deep tests. One
   * place for bytes covers all of them.
   */
  large_shown_by?: string;
  /** The other test that covers, by the same code, the changes that `verify` finds. */
  verify_shown_by?: string;
  /** True if the store can hold NUL. */
  has_nul: boolean;
  /** True if numbers in JSON are returned in the store's own notation (`100000` for `1e5`). */
  numbers_by_value?: true;
  /** True if a written slice survives the death of its sink. */
  recovers: boolean;
};

/** The slices of the contract: ranges of row positions. */
const slice_ranges: readonly [number, number][] = [
  [0, 7],
  [7, contractRows.length],
];
const large_range: [number, number] = [large_position, large_position + 1];

/** Writes the contract's rows to a destination under test; ClickHouse itself writes the bytes. */
export class Contract {
  readonly under: DestinationUnderTest;
  deps!: DestinationDeps;
  readonly planted = new PlantedConfigs();
  /** Notes of the last comparison. */
  notes: string[] = [];
  /** Returns true if the source has lost the delivered rows. */
  is_source_gone = false;
  private clickhouse!: ClickHouseBytes;
  private readonly created = new Map<string, Promise<Buffer>>();

  constructor(under: DestinationUnderTest) {
    this.under = under;
  }

  async start(): Promise<void> {
    const given = await this.under.start();
    this.clickhouse = openClickHouseBytes();
    this.deps = { ...given, log: this.planted.log, encodeRow: this.clickhouse.encodeRow };
    for (const statement of contractTable(contractRows)) await this.clickhouse.run(statement);
  }

  async stop(): Promise<void> {
    this.clickhouse.close();
    await this.under.stop();
  }

  delivery(): Delivery {
    return freshDelivery(this.under.owner?.());
  }

  async open(config: Config, delivery: Delivery): Promise<Sink> {
    this.planted.plant(this.under.definition, config);
    return this.planted.listen(
      await this.planted.hearing(() => this.under.definition.open(config, delivery, this.deps)),
    );
  }

  /** The steps of the connection test. */
  async check(config: Config): Promise<CheckStep[]> {
    this.planted.plant(this.under.definition, config);
    const steps = await this.planted.hearing(() =>
      this.under.definition.check(config, contractColumns, this.deps),
    );
    return this.planted.told('a step of the connection test', steps);
  }

  /** Fails if a secret of a config is in any output or state of the destination. */
  searchSecrets(): void {
    const { definition, planted_elsewhere = [] } = this.under;
    this.planted.search({
      keys: definition.secrets.filter((key) => !planted_elsewhere.includes(key)),
      kinds: ['a step of the connection test', 'an error', 'the outcome of a slice', 'a manifest'],
    });
  }

  write(sink: Sink, config: Config, number: number): Promise<SliceOutcome> {
    return this.writeRange(sink, config, number, slice_ranges[number]!);
  }

  /** Writes the row with a property of `large_bytes` as the first slice. */
  async writeLarge(sink: Sink, config: Config): Promise<SliceOutcome> {
    await this.clickhouse.run(large_row);
    return this.writeRange(sink, config, 0, large_range);
  }

  /** Delivers generated rows as one slice, as the contract delivers its own. */
  async deliverGenerated(config: Config, rows: SourceRow[]): Promise<void> {
    for (let from = 0; from < rows.length; from += 500)
      await this.clickhouse.run(
        insertRows(rows.slice(from, from + 500), generated_position + from),
      );
    const delivery = this.delivery();
    const sink = await this.open(config, delivery);
    const range: [number, number] = [generated_position, generated_position + rows.length];
    const outcomes = [await this.writeRange(sink, config, 0, range)];
    await sink.commit(outcomes, { name: 'manifest', text: manifestText(delivery, outcomes) });
    await sink.close();
  }

  /** Delivers the rows of the first slice with other columns, which the source computes. */
  async deliverColumns(config: Config, columns: Column[]): Promise<DeliveredSlices> {
    const delivery = { ...this.delivery(), columns, merge: null };
    const sink = await this.open(config, delivery);
    const outcomes = [await this.writeRange(sink, config, 0, slice_ranges[0]!, columns)];
    const manifest = manifestText(delivery, outcomes);
    await sink.commit(outcomes, { name: 'manifest', text: manifest });
    await sink.close();
    return { delivery, outcomes, manifest };
  }

  private async writeRange(
    sink: Sink,
    config: Config,
    number: number,
    [from, to]: [number, number],
    columns = contractColumns,
  ): Promise<SliceOutcome> {
    const encoding = this.under.definition.encoding(config);
    const bytes = await this.bytesOf(encoding, [from, to], columns);
    const stage = encodeStage(encoding);
    const written = await sink.write(
      { number, records: to - from },
      stage.pipeline(Readable.from([bytes.subarray(0, 100), bytes.subarray(100)])),
    );
    return { number, ...stage.finish(), ...written };
  }

  /** Returns ClickHouse's bytes of rows that never change, read once; each caller gets a copy. */
  private async bytesOf(
    encoding: Encoding,
    [from, to]: [number, number],
    columns = contractColumns,
  ): Promise<Buffer> {
    const selection = selectFor(encoding, columns);
    const key = JSON.stringify([selection, from, to]);
    const created =
      this.created.get(key) ??
      this.clickhouse.bytes(
        selection,
        `contract WHERE position >= ${from} AND position < ${to} ORDER BY position`,
      );
    this.created.set(key, created);
    return Buffer.from(await created);
  }

  async writeAll(sink: Sink, config: Config): Promise<SliceOutcome[]> {
    const outcomes: SliceOutcome[] = [];
    for (const number of slice_ranges.keys()) outcomes.push(await this.write(sink, config, number));
    return outcomes;
  }

  async deliver(config: Config, delivery: Delivery): Promise<DeliveredSlices> {
    const sink = await this.open(config, delivery);
    const outcomes = await this.writeAll(sink, config);
    const manifest = manifestText(delivery, outcomes);
    this.planted.hear('a manifest', manifest);
    await sink.commit(outcomes, { name: 'manifest', text: manifest });
    await sink.close();
    return { delivery, outcomes, manifest };
  }

  async verify(
    config: Config,
    delivered: DeliveredSlices[],
    columns?: Column[],
  ): Promise<Difference[]> {
    const notes: string[] = [];
    const differences = await this.planted.hearing(() =>
      this.under.definition.verify(config, delivered, this.source(notes, columns), this.deps),
    );
    this.notes = notes;
    return this.planted.told('a difference', differences);
  }

  /** The seal of a delivery; undefined if the place returns none. */
  async seal(config: Config, one: DeliveredSlices): Promise<string | undefined> {
    const { seals } = this.under.definition;
    const all = { event_from: null, event_to: null, inserted_from: null, inserted_to: null };
    const contents = () => ({ selection: [all], columns: [], slices: [] });
    const given = await seals?.(config, [one], { ...this.source([]), contents }, this.deps);
    return given?.get(one.delivery.delivery_id)?.text;
  }

  /** Returns the texts of an export's receipts that belong to no known delivery. */
  async receipts(
    config: Config,
    delivery: Delivery,
    known: Delivery,
  ): Promise<(string | undefined)[]> {
    const isKnown = (id: string) => known.delivery_id.endsWith(id);
    const held = this.under.definition.receipts?.(config, this.deps, { ...delivery, isKnown });
    return (await Array.fromAsync(held ?? [])).map(({ text }) => text);
  }

  /** The contract's rows as the source of deliveries, as the engine reads them. */
  private source(notes: string[], columns?: Column[]): ContentSource {
    const whole: [number, number] =
      columns === undefined ? [0, contractRows.length] : slice_ranges[0]!;
    const rows = async function* (this: Contract, slice?: number) {
      const range = slice === undefined ? whole : slice_ranges[slice]!;
      yield* readCsv(Readable.from([await this.bytesOf(content_encoding, range, columns)]));
    }.bind(this);
    return {
      rows: (_id, slice) => rows(slice),
      isWhole: () => Promise.resolve(!this.is_source_gone),
      contents: () => ({ selection: [], columns: [], slices: [] }),
      findBroughtAgain: async () => new Set(),
      note: (sentence) => void notes.push(sentence),
      onRow: () => undefined,
    };
  }

  /** Returns true if a commit is visible afterwards. */
  get has_commit(): boolean {
    return this.under.definition.shows_as_written !== true && this.under.keeps_nothing !== true;
  }

  /** Returns the rows that a reader sees at the place, in the order of `expected`. */
  async readBack(config: Config): Promise<Record<string, unknown>[]> {
    return this.inOrder(await this.under.readBack(config));
  }

  /** Returns the rows that a reader must see after this many deliveries. */
  expected(deliveries = 1): Record<string, unknown>[] {
    const rows =
      this.under.keeps_nothing === true
        ? []
        : contractRows.map((row) => expectedRow(row, { has_nul: this.under.has_nul }));
    return this.inOrder(Array.from({ length: deliveries }, () => rows).flat());
  }

  /** Returns the uuids of the rows of a slice. */
  uuidsOf(number: number): string[] {
    const [from, to] = slice_ranges[number]!;
    return contractRows.slice(from, to).map(({ uuid }) => uuid);
  }

  private inOrder(rows: Record<string, unknown>[]): Record<string, unknown>[] {
    return this.under.is_unordered === true
      ? rows.toSorted((one, other) => String(one['uuid']).localeCompare(String(other['uuid'])))
      : rows;
  }
}

/** Returns a manifest as the engine creates it, with the parts that destinations read. */
export function manifestText(delivery: Delivery, outcomes: SliceOutcome[]): string {
  return JSON.stringify({
    version: 1,
    delivery_id: delivery.delivery_id,
    batch_export_id: delivery.batch_export_id,
    model: delivery.model,
    data_interval_start: delivery.data_interval_start,
    data_interval_end: delivery.data_interval_end,
    slices: outcomes.map(({ name, records, bytes, sha256 }) => ({ name, records, bytes, sha256 })),
  });
}
