-- What the attempt took of the machine, where its handler knows: the most memory at a time, and the time of processors.
ALTER TABLE job_runs ADD COLUMN peak_memory_bytes bigint, ADD COLUMN cpu_seconds double precision;
