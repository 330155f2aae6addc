import { models } from '../../model/models/index.ts';
import { model_names } from '../../model/models/model.ts';
import { isPrintedFunction } from './printed_functions.ts';

/** A node of ClickHouse's EXPLAIN AST: its depth, its kind, and the word after the kind. */
type Node = { depth: number; kind: string; word: string };

const kinds = new Set([
  'SelectWithUnionQuery',
  'SelectQuery',
  'ExpressionList',
  'TablesInSelectQuery',
  'TablesInSelectQueryElement',
  'TableExpression',
  'TableJoin',
  'ArrayJoin',
  'TableIdentifier',
  'Subquery',
  'Identifier',
  'Asterisk',
  'Function',
  'Literal',
  'OrderByElement',
  'WindowDefinition',
]);
/** Only a model's relation unfolds an array, which it creates by this function. */
const unfolded = 'arrayPushFront';
const words = Object.values(models).flatMap((model) => model.words ?? []);
const tables = new Set<string>([...model_names, ...words.flatMap((own) => own.tables)]);
const functions = new Set(words.flatMap((own) => own.functions));
// The printer's own names, and the columns of the store. No other word is allowed: after IN, a name
// would be a table.
const printed_name = /^(?:t\d+|c\d+|l\d+|column_\d+|order_\d+)(?:_[a-z]\w*)?$/;
const store_columns = new Set([
  'team_id',
  ...Object.values(models).flatMap(({ columns }) => columns.files.map((column) => column.name)),
  ...words.flatMap((own) => own.columns),
]);

/**
 * Finds a node in a tree of EXPLAIN AST that a printed query never has; undefined for a valid tree.
 * The tree has one line for each node, indented by a space for each level. Guarantee: a valid tree
 * is a single SELECT without SETTINGS, FORMAT or INTO, only reads tables of the models, and only
 * calls listed functions and table functions.
 */
export function findForeignNode(lines: string[]): string | undefined {
  const path: Node[] = [];
  for (const [index, line] of lines.entries()) {
    const match = /^( *)([A-Za-z]+)(?: ([^ ]+))?/.exec(line);
    if (match === null) return line;
    const node: Node = { depth: match[1]!.length, kind: match[2]!, word: match[3] ?? '' };
    path.length = node.depth;
    if ((node.depth === 0) !== (index === 0)) return line;
    if (isForeign(node, path, line)) return line.trim();
    path.push(node);
  }
  return lines.length === 0 ? 'nothing' : undefined;
}

function isForeign(node: Node, path: Node[], line: string): boolean {
  if (node.depth === 0)
    return node.kind !== 'SelectWithUnionQuery' || !line.endsWith('(children 1)');
  if (!kinds.has(node.kind)) return true;
  const parent = path.at(-1)?.kind;
  if (path.at(-2)?.kind === 'ArrayJoin' && node.word !== unfolded) return true;
  switch (node.kind) {
    case 'TableIdentifier':
      return !tables.has(node.word) || parent !== 'TableExpression';
    case 'Function':
      return (
        (!isPrintedFunction(node.word) && !functions.has(node.word)) || parent === 'TableExpression'
      );
    case 'Identifier':
      return !printed_name.test(node.word) && !store_columns.has(node.word);
    default:
      return false;
  }
}
