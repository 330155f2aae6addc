-- What the distinct ids of visitors without cookies are made with, a salt for each day (UTC). A
-- salt goes with its day: from then on nobody can tell whose such an id was.
CREATE TABLE visitor_salts (
  day date PRIMARY KEY,
  salt text NOT NULL
);
