-- What a claim walks along: from tenant to tenant, queue to queue and rank to rank (the lowest first), and in each to what has been due the longest.
create index timer_place on timer (tenant, coalesce(row ->> 'queue', 'default'), -coalesce(row ->> 'priority', 0), row ->> 'due_at')
where row ->> 'due_at' is not null;

-- By what runs need of a worker: the same few texts again and again.
create index timer_needs on timer (row ->> 'needs') where row ->> 'needs' is not null;
