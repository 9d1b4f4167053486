-- For wrk: `wrk … -s answers.lua URL -- BODIES` posts the file's lines in turn, each as JSON, and
-- begins anew after the last; ends with one line "RESULT {…}" of JSON.

local bodies, nextBody = {}, 0

function init(arguments)
    for line in io.lines(arguments[1]) do
        bodies[#bodies + 1] = line
    end
    wrk.headers["Content-Type"] = "application/json"
end

function request()
    nextBody = nextBody % #bodies + 1
    return wrk.format("POST", nil, nil, bodies[nextBody])
end

function done(summary, latency)
    local e = summary.errors
    io.write(string.format(
        'RESULT {"requests":%d,"seconds":%.6f,"errors":%d,"p50":%d,"p99":%d}\n',
        summary.requests, summary.duration / 1e6,
        e.connect + e.read + e.write + e.status + e.timeout,
        latency:percentile(50), latency:percentile(99)))
end
