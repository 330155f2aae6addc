-- The group of a `$groupidentify` event, and where a group's events are. `group_id` is type and key
-- with a colon between; empty where there is none. `group_set` has the properties that the event
-- sets, each with its JSON text, `group_at` and `group_number` its time and its uuid as a number.
-- All are made of the event, so neither an insert nor `SELECT *` has them; of other events they are
-- empty, and so take next to nothing. ClickHouse's reader prints `1.0` as `1` and gives up a
-- document with a number beyond 64 bits, so it gets numbers as texts with a mark. As a type or a
-- key `1.0` is `1`. Arrays that are empty for other events keep these cheap. The projection has all
-- that a group is made of. The background migrations go through older rows.
ALTER TABLE events
  ADD COLUMN IF NOT EXISTS group_id String MATERIALIZED
    arrayMap(document -> arrayMap(named ->
        if(lengthUTF8(named[1]) BETWEEN 1 AND 100 AND position(named[1], ':') = 0
          AND position(named[1], '\0') = 0 AND lengthUTF8(named[2]) BETWEEN 1 AND 300
          AND position(named[2], '\0') = 0, concat(named[1], ':', named[2]), ''),
        [arrayMap(name -> arrayMap(sent -> if(startsWith(sent, '\x01\x02\x01'),
            replaceRegexpOne(substring(sent, 4), '[.]0+$', ''), sent),
          [if(JSONType(document, name) = 'String', JSONExtractString(document, name), '')])[1],
        ['$group_type', '$group_key'])])[1],
      arrayMap(given -> replaceAll(replaceRegexpAll(replaceAll(replaceRegexpAll(given,
          '("(?:[^"\\\\]|\\\\.)*")|(-?[0-9]+(?:[.][0-9]+)?(?:[eE][+-]?[0-9]+)?)', '\\1\x03\\2\x03'),
          '\x03\x03', ''), '\x03([^\x03]*)\x03', '"\x03\\1"'), '\x03', '\\u0001\\u0002\\u0001'),
        arrayFilter(one -> one != '', [if(event = '$groupidentify', properties, '')])))[1]
    CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS group_at DateTime64(6, 'UTC') MATERIALIZED
    if(group_id = '', toDateTime64(0, 6, 'UTC'), timestamp) CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS group_number UInt128 MATERIALIZED
    if(group_id = '', toUInt128(0), toUInt128(uuid)) CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS group_set Array(Tuple(String, String)) MATERIALIZED
    arrayMap(given -> arrayMap(one -> (one.1, replaceRegexpAll(one.2,
        '"\\\\u0001\\\\u0002\\\\u0001([^"]*)"', '\\1')), JSONExtractKeysAndValuesRaw(
      replaceAll(replaceRegexpAll(replaceAll(replaceRegexpAll(given,
        '("(?:[^"\\\\]|\\\\.)*")|(-?[0-9]+(?:[.][0-9]+)?(?:[eE][+-]?[0-9]+)?)', '\\1\x03\\2\x03'),
        '\x03\x03', ''), '\x03([^\x03]*)\x03', '"\x03\\1"'), '\x03', '\\u0001\\u0002\\u0001'),
      '$group_set')),
      arrayFilter(one -> one != '', [if(group_id = '', '', properties)]))[1]
    CODEC(ZSTD(1));

ALTER TABLE events ADD PROJECTION IF NOT EXISTS groups (
  SELECT team_id, group_id, group_at, group_number, group_set, inserted_at
  ORDER BY team_id, group_id
) WITH SETTINGS (index_granularity = 512);

-- Groups that lost events by an erasure, at the instant from which on they are without them: such a
-- group is exported again, though no event of it was inserted.
CREATE TABLE IF NOT EXISTS group_removals (
  team_id Int64,
  group_id String,
  inserted_at DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1))
) ENGINE = MergeTree
ORDER BY (team_id, inserted_at, group_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
