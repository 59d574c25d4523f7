-- Which process a node or worker is: two that start on copies of one data folder differ in nothing else. Rows from before get
-- an id that no process has, so that whoever starts under their name is told apart from them.
ALTER TABLE nodes ADD COLUMN boot_id uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE workers ADD COLUMN boot_id uuid NOT NULL DEFAULT gen_random_uuid();
