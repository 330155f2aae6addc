/** A value of Thrift's compact protocol: an integer of 32 or 64 bits, text, a list or a struct. */
type Value = { i32: number } | { i64: number } | string | Value[] | Map<number, Value>;

/** The claims of the parts of the file, true or false. */
export type Said = {
  rows?: number;
  group_rows?: number;
  values?: number;
  encoding?: number;
  page_type?: number;
  unpacked?: number;
  chunk_bytes?: number;
  /** 0: none, 2: gzip. */
  codec?: number;
  footer_bytes?: number;
  /** Pairs of a key and a value, both missing. */
  empty_pairs?: number;
};

/**
 * A Parquet file with one page of one nullable text column `text`. It is written by hand, so that
 * it can contain what no writer writes. `body` is the page: its levels and its values.
 */
export function smallParquet(body: Buffer, rows: number, said: Said = {}): Buffer {
  const page = struct(
    new Map<number, Value>([
      [1, { i32: said.page_type ?? 0 }],
      [2, { i32: said.unpacked ?? body.length }],
      [3, { i32: body.length }],
      [
        5,
        new Map<number, Value>([
          [1, { i32: said.values ?? rows }],
          [2, { i32: said.encoding ?? 0 }],
          [3, { i32: 3 }],
          [4, { i32: 3 }],
        ]),
      ],
    ]),
  );
  const footer = footerOf(page.length + body.length, rows, said);
  const end = Buffer.alloc(4);
  end.writeUInt32LE(said.footer_bytes ?? footer.length);
  return Buffer.concat([Buffer.from('PAR1'), page, body, footer, end, Buffer.from('PAR1')]);
}

function footerOf(length: number, rows: number, said: Said): Buffer {
  const column = new Map<number, Value>([
    [1, { i32: 6 }],
    [2, [{ i32: 0 }]],
    [3, ['text']],
    [4, { i32: said.codec ?? 0 }],
    [5, { i64: rows }],
    [6, { i64: length }],
    [7, { i64: said.chunk_bytes ?? length }],
    [9, { i64: 4 }],
  ]);
  const chunk = new Map<number, Value>([
    [2, { i64: 4 }],
    [3, column],
  ]);
  const group = new Map<number, Value>([
    [1, [chunk]],
    [2, { i64: length }],
    [3, { i64: said.group_rows ?? rows }],
  ]);
  const pairs = said.empty_pairs ?? 0;
  const fields = struct(
    new Map<number, Value>([
      [1, { i32: 1 }],
      [
        2,
        [
          new Map<number, Value>([
            [4, 'root'],
            [5, { i32: 1 }],
          ]),
          new Map<number, Value>([
            [1, { i32: 6 }],
            [3, { i32: 1 }],
            [4, 'text'],
            [6, { i32: 0 }],
          ]),
        ],
      ],
      [3, { i64: said.rows ?? rows }],
      [4, [group]],
    ]),
  );
  // A fifth field: the list of these pairs. Each pair is only the end of a struct.
  return pairs === 0
    ? fields
    : Buffer.concat([
        fields.subarray(0, -1),
        Buffer.from([0x19, 0xfc]),
        varint(pairs),
        Buffer.alloc(pairs + 1),
      ]);
}

/** A page with this many rows `a`; its run of levels claims `run` rows. */
export function pageOf(rows: number, run = rows): Buffer {
  const levels = Buffer.concat([varint(run * 2), Buffer.from([1])]);
  const head = Buffer.alloc(4);
  head.writeUInt32LE(levels.length);
  const value = Buffer.from([1, 0, 0, 0, 0x61]);
  return Buffer.concat([head, levels, ...Array.from({ length: rows }, () => value)]);
}

function typeOf(value: Value): number {
  if (typeof value === 'string') return 8;
  if (Array.isArray(value)) return 9;
  if (value instanceof Map) return 12;
  return 'i32' in value ? 5 : 6;
}

function written(value: Value): Buffer {
  if (typeof value === 'string') return Buffer.concat([varint(value.length), Buffer.from(value)]);
  if (Array.isArray(value))
    return Buffer.concat([
      Buffer.from([(value.length << 4) | typeOf(value[0]!)]),
      ...value.map(written),
    ]);
  if (value instanceof Map) return struct(value);
  return varint(('i32' in value ? value.i32 : value.i64) * 2);
}

function struct(fields: Map<number, Value>): Buffer {
  let last = 0;
  const parts = [...fields].map(([field, value]) => {
    const head = ((field - last) << 4) | typeOf(value);
    last = field;
    return Buffer.concat([Buffer.from([head]), written(value)]);
  });
  return Buffer.concat([...parts, Buffer.from([0])]);
}

function varint(number: number): Buffer {
  const bytes: number[] = [];
  let rest = number;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}
