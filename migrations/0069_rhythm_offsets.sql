-- Days and weeks of an export turn at a time of its own, in a zone of its own. Zero and false are
-- what exports had before: midnight, and the project's zone. A process of the release before plans
-- midnights; its intervals end where the next ones begin all the same.

ALTER TABLE batch_exports
  -- after midnight, of weeks after Monday midnight, on the clocks of `timezone`
  ADD COLUMN offset_minutes integer NOT NULL DEFAULT 0
    CHECK (offset_minutes >= 0 AND offset_minutes < 7 * 24 * 60),
  -- somebody chose the zone: it does not follow the project's when the interval changes
  ADD COLUMN has_own_timezone boolean NOT NULL DEFAULT false;
