-- When the next insert into an analytics store with replicas may begin: all processes together stay
-- below what its coordination service bears. Not logged: after a crash or a failover the next
-- insert begins anew.
CREATE UNLOGGED TABLE insert_pace (
  id smallint PRIMARY KEY CHECK (id = 1),
  free_at timestamptz NOT NULL
);
