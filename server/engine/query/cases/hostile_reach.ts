/** Texts that try to reach what is not the project's: other tables, files, the net, the server itself. None of them is in the language. */

const system_tables = [
  'system.tables', 'system.users', 'system.processes', 'system.query_log', 'system.settings', 'system.one', 'system.numbers', 'system.parts', 'system.columns', 'system.functions', 'system.disks',
  'system.macros', 'information_schema.tables', 'INFORMATION_SCHEMA.COLUMNS', 'default.events', 'default.persons', '`default`.`events`', '"system"."one"', 'migrations', 'one', 'numbers', '`system.one`',
  '`events; SELECT 1`', 'dual', 'mysql.user', 'pg_catalog.pg_tables', '_table', 'events2', 'Events', 'EVENTS', '`events `', '`.inner.events`', 'test_0.events',
];
const table_functions = [
  "file('/etc/passwd', 'LineAsString')", "url('http://127.0.0.1/', 'LineAsString')", "s3('http://127.0.0.1/x', 'CSV')", "remote('127.0.0.1', system.one)", "remoteSecure('127.0.0.1', system.one)",
  "mysql('127.0.0.1:3306', 'a', 'b', 'c', 'd')", "postgresql('127.0.0.1:5432', 'a', 'b', 'c', 'd')", "sqlite('/tmp/x', 'y')", "mongodb('127.0.0.1', 'a', 'b', 'c', 'd')", "merge('default', 'events')",
  "cluster('default', system.one)", "clusterAllReplicas('default', system.one)", 'numbers(10)', 'numbers_mt(10)', 'zeros(10)', 'view(SELECT 1)', "input('a String')", "executable('x.sh', 'CSV', 'a String')",
  "generateRandom('a String')", "values('a String', 'x')", 'null(\'a String\')', "format(CSV, 'a')", "dictionary('x')", "hdfs('hdfs://x', 'CSV')", "azureBlobStorage('x')", "deltaLake('x')", "iceberg('x')",
  "odbc('x', 'y', 'z')", "jdbc('x', 'y')", "redis('x', 'y', 'z')", 'mergeTreeIndex(default, events)', 'mergeTreeProjection(default, events, uuids)', "loop(events)", 'generateSeries(1, 10)', 'generate_series(1, 10)',
  "fuzzQuery('SELECT 1')", 'viewExplain(\'EXPLAIN\', \'\', (SELECT 1))', 'timeSeriesData(x)', "gcs('x')", "filesystem('/')", "python('x')",
];
const functions = [
  "file('/etc/passwd')", "dictGet('d', 'a', 1)", "dictGetOrDefault('d', 'a', 1, 2)", "dictHas('d', 1)", "joinGet('j', 'a', 1)", "getSetting('max_threads')", "getMacro('x')", 'hostName()', 'hostname()', 'version()',
  'currentUser()', 'user()', 'currentDatabase()', 'database()', 'currentRoles()', 'uptime()', 'timezone()', 'serverUUID()', 'queryID()', 'connectionId()', 'tcpPort()', 'getOSKernelVersion()', 'buildId()',
  'sleep(3)', 'sleepEachRow(3)', 'throwIf(1)', 'rand()', 'rand64()', 'randomString(10)', 'randConstant()', 'generateUUIDv4()', 'generateUUIDv7()', "fuzzBits('a', 0.5)", 'now64()', 'currentTimestamp()',
  'rowNumberInAllBlocks()', 'rowNumberInBlock()', 'blockNumber()', 'blockSize()', 'runningAccumulate(1)', 'neighbor(event, 1)', 'runningDifference(1)', 'materialize(1)', 'identity(1)', 'ignore(1)', 'indexHint(1)',
  "addressToLine(1)", "addressToSymbol(1)", "demangle('x')", "catboostEvaluate('x', 1)", "modelEvaluate('x', 1)", 'toTypeName(1)', 'dumpColumnStructure(1)', 'defaultValueOfTypeName(\'String\')', "formatQuery('SELECT 1')",
  'initializeAggregation(\'sum\', 1)', "arrayReduce('sum', [1])", 'finalizeAggregation(1)', 'sumState(1)', 'sumMerge(1)', 'countState()', 'any(event)', 'anyLast(event)', 'anyHeavy(event)', 'topK(3)(event)', 'groupArraySample(3)(event)',
  "hasColumnInTable('default', 'events', 'team_id')", "isConstant(1)", "getSizeOfEnumType(1)", "filesystemAvailable()", "filesystemCapacity()", "zookeeperSessionUptime()", "getServerPort('tcp_port')", "shardNum()",
  "repeat('x', 1000000000)", 'range(1000000000)', "space(1000000000)", 'arrayWithConstant(1000000000, 1)', 'arrayResize([1], 1000000000)', "leftPad('x', 1000000000)", "ngramDistance('a', 'b')", "editDistance('a', 'b')",
  "transactionID()", "encrypt('aes-128-ecb', 'a', 'b')", "decrypt('aes-128-ecb', 'a', 'b')", "showCertificate()", 'mortonEncode(1, 2)', "s2ToGeo(1)", "geoToH3(1.0, 1.0, 1)", "regionToName(1)", "IPv4StringToNum('1')", 'bar(1, 0, 10)', "toLowCardinality('x')",
  'getClientHTTPHeader(\'x\')', "evalMLMethod(1, 2)", 'sql_current(1)', "errorCodeToName(1)", "logTrace('x')", "detectLanguage('x')", "naiveBayesClassifier('x', 'y')", "aiGenerate('x')", "structureToProtobufSchema('a String')",
];
const clauses = [
  'SETTINGS max_execution_time = 0', "SETTINGS readonly = 0", "SETTINGS additional_table_filters = {}", 'FORMAT Null', 'FORMAT JSON', "INTO OUTFILE '/tmp/x'", "INTO OUTFILE '/tmp/x' TRUNCATE FORMAT CSV", '; SELECT 1', '; DROP TABLE events',
  '; SYSTEM SHUTDOWN', ';;', ';--\nSELECT 1', 'FINAL', 'SAMPLE 0.1', 'PREWHERE 1', 'ARRAY JOIN [1] AS x', 'LEFT ARRAY JOIN [1] AS x', 'WITH TOTALS', 'GROUP BY event WITH ROLLUP', 'LIMIT 1 WITH TIES', 'ORDER BY uuid WITH FILL',
  'LIMIT (SELECT 1)', 'LIMIT -1', 'LIMIT 1.5', "LIMIT '1'", 'LIMIT 99999999999999999999', 'INTERSECT SELECT 1', 'EXCEPT SELECT 1', 'UNION SELECT 1', 'GLOBAL JOIN persons ON 1', 'ANY LEFT JOIN persons ON 1', 'ASOF JOIN persons ON 1',
  'PASTE JOIN persons', 'JOIN persons', 'QUALIFY 1', 'HAVING 1', 'PARALLEL WITH SELECT 1', 'FOR UPDATE', 'FETCH FIRST 1 ROW ONLY', 'COMMENT \'x\'', 'WINDOW', 'OFFSET x', 'PROCEDURE ANALYSE()', 'LATERAL VIEW x',
];
const statements = [
  'DROP TABLE events', 'TRUNCATE events', 'INSERT INTO events SELECT * FROM events', 'CREATE TABLE x AS events', 'ALTER TABLE events DELETE WHERE 1', 'SHOW TABLES', 'DESCRIBE events', 'EXPLAIN SELECT 1', 'EXPLAIN AST SELECT 1; DROP TABLE events',
  'USE system', 'SET readonly = 0', 'SYSTEM SHUTDOWN', 'KILL QUERY WHERE 1', 'GRANT ALL ON *.* TO x', 'OPTIMIZE TABLE events', 'ATTACH TABLE x', 'RENAME TABLE events TO x', 'EXCHANGE TABLES a AND b', 'BACKUP TABLE events TO Disk(\'d\', \'x\')',
  'WITH x AS (SELECT 1) INSERT INTO events SELECT 1', 'FROM events SELECT 1', 'EXECUTE AS x SELECT 1', 'VALUES (1)', 'TABLE events', '', ' ', ';', '--', '/*', '()', '(SELECT 1', 'SELECT', 'SELECT FROM events', 'SELECT 1 FROM', 'SELECT 1', 'SELECT * FROM (SELECT 1 AS x)',
];

/** Each must be refused with a QueryError. */
export const refused_reach: string[] = [
  ...system_tables.flatMap((table) => [`SELECT * FROM ${table}`, `SELECT event FROM events WHERE event IN (SELECT x FROM ${table})`]),
  ...system_tables.slice(0, 8).flatMap((table) => [`SELECT e.event FROM events e JOIN ${table} AS s ON 1 = 1`, `WITH x AS (SELECT * FROM ${table}) SELECT * FROM x`]),
  ...table_functions.flatMap((call) => [`SELECT * FROM ${call}`, `SELECT e.event FROM events AS e, ${call} AS x`]),
  ...functions.map((call) => `SELECT ${call} AS x FROM events`),
  ...functions.slice(0, 12).flatMap((call) => [`SELECT event FROM events WHERE ${call} = 'x'`, `SELECT event FROM events ORDER BY ${call}`, `SELECT arrayMap(x -> ${call}, [1]) AS x FROM events`]),
  ...clauses.map((clause) => `SELECT event FROM events ${clause}`),
  ...clauses.slice(0, 6).map((clause) => `SELECT event FROM (SELECT event FROM events ${clause})`),
  ...statements,
];
