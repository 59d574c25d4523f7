-- Whose jobs a worker may be given; NULL: those of all namespaces, as also workers that an older server registered.
ALTER TABLE workers ADD COLUMN namespaces text[];
ALTER TABLE lost_workers ADD COLUMN namespaces text[];

-- As handler_offers, of workers that are bound to namespaces: of each namespace a bounded number is kept.
CREATE TABLE namespace_offers (
  namespace  text COLLATE "C" NOT NULL,
  handler    text COLLATE "C" NOT NULL,
  offered_at bigint NOT NULL,
  PRIMARY KEY (namespace, handler)
);
CREATE INDEX namespace_offers_handler ON namespace_offers (handler);
