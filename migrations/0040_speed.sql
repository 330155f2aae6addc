-- What answers a page shall not cost more where more is stored beside it.

-- Members are counted by their index, and those whose account is not active are taken off.
CREATE INDEX users_inactive ON users (id) WHERE NOT is_active;
