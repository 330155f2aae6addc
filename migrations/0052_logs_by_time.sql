-- Lines of a log between two instants are found by an index, however long the log is: lists of them
-- are in the order of the indexes, by time and no longer by number.
DROP INDEX batch_export_logs_by_export;
DROP INDEX batch_export_logs_not_well;
CREATE INDEX batch_export_logs_by_export
  ON batch_export_logs (batch_export_id, "timestamp" DESC, id DESC);
CREATE INDEX batch_export_logs_not_well
  ON batch_export_logs (batch_export_id, "timestamp" DESC, id DESC) INCLUDE (level)
  WHERE level IN ('WARNING', 'ERROR');
