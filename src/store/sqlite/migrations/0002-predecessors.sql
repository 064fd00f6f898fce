-- Who held a run before its present claim and never gave it back.
alter table lease add column prior text;
