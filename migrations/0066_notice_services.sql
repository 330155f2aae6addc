-- Chat and paging services are targets beside mails and signed webhooks: each has an address, and
-- PagerDuty a key in place of a signing secret. A target may have a name, and shows its last test.
-- A process of the release before cannot send to a service; it leaves the notice for a later
-- attempt.

ALTER TABLE notice_targets
  DROP CONSTRAINT notice_targets_type_check,
  DROP CONSTRAINT notice_targets_check,
  DROP CONSTRAINT notice_targets_check1,
  DROP CONSTRAINT notice_targets_check2,
  DROP CONSTRAINT notice_targets_check3,
  ADD CONSTRAINT notice_targets_type_check
    CHECK (type IN ('email', 'webhook', 'slack', 'microsoft_teams', 'pagerduty')),
  ADD CONSTRAINT notice_targets_check CHECK ((address IS NOT NULL) = (type = 'email')),
  ADD CONSTRAINT notice_targets_check1 CHECK ((url IS NOT NULL) = (type <> 'email')),
  ADD CONSTRAINT notice_targets_check3 CHECK (url_sealed IS NULL OR type <> 'email'),
  ADD CONSTRAINT notice_targets_check2
    CHECK ((secret IS NOT NULL) = (type IN ('webhook', 'pagerduty'))),
  -- what people call it; null: they know it by its address
  ADD COLUMN name text,
  -- {at, is_delivered, detail} of the latest test
  ADD COLUMN last_test jsonb;
