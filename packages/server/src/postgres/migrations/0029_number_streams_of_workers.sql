-- The streams of a worker at the end of one are numbered: an older stream that is half open can not take the worker back.
ALTER TABLE workers ADD COLUMN session integer NOT NULL DEFAULT 0;
