-- Each attempt at a notice, so that people see what a receiver answered and when; it goes with its
-- delivery after 30 days.
CREATE TABLE notice_attempts (
  delivery_id bigint NOT NULL REFERENCES notice_deliveries ON DELETE CASCADE,
  number integer NOT NULL,
  at timestamptz NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('delivered', 'failed', 'given_up')),
  -- the HTTP status of a webhook's answer; null without one, and for mails
  status integer,
  detail text,
  PRIMARY KEY (delivery_id, number)
);
-- the deliveries of a project, newest first
CREATE INDEX notice_deliveries_by_project ON notice_deliveries (team_id, id DESC);
