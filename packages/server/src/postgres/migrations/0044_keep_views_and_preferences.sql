-- What people keep for themselves on the dashboard: views of its lists, and preferences. They go with their user.
CREATE TABLE user_views (
  user_id           uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  view_id           uuid NOT NULL,
  screen            text COLLATE "C" NOT NULL,
  name              text COLLATE "C" NOT NULL,
  query             text NOT NULL,
  updated_at        timestamptz NOT NULL,
  PRIMARY KEY (user_id, view_id)
);
CREATE UNIQUE INDEX user_views_name ON user_views (user_id, screen, name);

CREATE TABLE user_preferences (
  user_id           uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  preferences       text NOT NULL
);
