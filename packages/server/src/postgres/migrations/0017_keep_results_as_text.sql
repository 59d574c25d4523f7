-- Results of runs are kept as the text they came as: nothing looks into them, and to read them into jsonb costs as much as the
-- rest of the row. What was recorded before stays where it is, until its day is dropped.
ALTER TABLE job_runs ADD COLUMN result_text text;
