/** The operator's limits of one query. */
export type QueryLimits = {
  execution_seconds: number;
  memory_bytes: number;
  rows_to_read: number;
  result_rows: number;
};

const ast_depth_max = 2_000;
const ast_elements_max = 200_000;
const range_elements_max = 1_000_000;
// Limits of time and cancels are checked between blocks: small ones cost next to nothing and end a
// slow function sooner.
const block_rows_max = 1_024;

/**
 * Returns ClickHouse's settings for running a printed query. Guarantee: the query can write
 * nothing, can read nothing outside the store, and fails at the limits. Three of them change its
 * meaning (NULL for rows without a join partner, timestamps instead of narrower types, results of
 * aggregates over no rows). So every use of a relation needs the same settings: `describeRelation`,
 * counting, streaming.
 */
export function querySettings(limits: QueryLimits): Record<string, string | number> {
  return {
    readonly: 1,
    max_execution_time: limits.execution_seconds,
    timeout_overflow_mode: 'throw',
    max_memory_usage: String(limits.memory_bytes),
    max_rows_to_read: String(limits.rows_to_read),
    read_overflow_mode: 'throw',
    max_result_rows: String(limits.result_rows),
    result_overflow_mode: 'throw',
    max_block_size: block_rows_max,
    max_joined_block_size_rows: block_rows_max,
    max_query_size: 16_000_000,
    max_ast_depth: ast_depth_max,
    max_ast_elements: ast_elements_max,
    max_expanded_ast_elements: ast_elements_max,
    max_parser_depth: ast_depth_max,
    function_range_max_elements_in_block: range_elements_max,
    allow_introspection_functions: 0,
    allow_ddl: 0,
    join_use_nulls: 1,
    transform_null_in: 0,
    aggregate_functions_null_for_empty: 0,
    enable_extended_results_for_datetime_functions: 1,
    date_time_output_format: 'iso',
    output_format_json_quote_64bit_integers: 0,
    output_format_json_quote_denormals: 0,
    session_timezone: 'UTC',
  };
}
