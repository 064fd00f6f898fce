// Stands in for a package of another version, in programs that only ask for that version.
const anything = new Proxy(() => anything, { get: (_, name) => (name === "then" ? undefined : anything) });
exports.context = anything;
exports.metrics = anything;
exports.ROOT_CONTEXT = anything;
exports.SpanKind = anything;
exports.SpanStatusCode = anything;
exports.TraceFlags = anything;
exports.trace = anything;
