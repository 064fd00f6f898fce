-- When it was claimed.
alter table lease add column since integer not null default 0;
