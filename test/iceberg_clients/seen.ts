/** The results of `with_pyiceberg.py`, except the location of its table. */
export const pyicebergSees = {
  namespaces: [[['py']], [['py', 'inner']]],
  rows: ['a', 'b', 'c'],
  rows_after_race: 7,
  fields: [
    [1, 'uuid'],
    [2, 'n'],
    [3, 'plan'],
  ],
  stale_schema_refused: true,
  rows_after_delete: 4,
  tables: ['events', 'renamed'],
  exists: [true, false],
  changed: { removed: ['owner'], updated: ['team'], missing: [] },
  not_empty_refused: true,
  none_refused: true,
  left: ['events'],
};

/** The rows and names that `with_spark.py` sees, with namespaces besides its own. */
export function sparkSees(others: string[]) {
  const evolved = [
    [1, 'merged', null],
    [3, 'new', null],
    [4, 'later', 'n'],
    ['9007199254740993', null, null],
  ];
  return {
    written: [
      [1, 'a', '1.50', 1],
      [2, 'ä', '2.25', 0],
      ['9007199254740993', null, null, null],
    ],
    merged: evolved.filter(([id]) => id !== 4).map(([id, name]) => [id, name]),
    evolved,
    kept: evolved,
    snapshots: 1,
    branches: [4, 5],
    copied: 4,
    tables: ['events', 'renamed'],
    left: others.toSorted(),
  };
}
