-- For wrk: `wrk … -s report.lua URL -- BODY_FILE` posts the file's bytes as JSON, or sends GETs when
-- it is empty; ends with one line "RESULT {…}" of JSON.

function init(arguments)
    local file = assert(io.open(arguments[1], "rb"))
    local body = file:read("*a")
    file:close()
    if #body > 0 then
        wrk.method = "POST"
        wrk.body = body
        wrk.headers["Content-Type"] = "application/json"
    end
end

function done(summary, latency)
    local e = summary.errors
    io.write(string.format(
        'RESULT {"requests":%d,"seconds":%.6f,"errors":%d,"p50":%d,"p99":%d}\n',
        summary.requests, summary.duration / 1e6,
        e.connect + e.read + e.write + e.status + e.timeout,
        latency:percentile(50), latency:percentile(99)))
end
