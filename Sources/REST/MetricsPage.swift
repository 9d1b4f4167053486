internal import Engine
internal import HTTP
internal import Loop
internal import Metrics
internal import Semantics
internal import TLS

/// Everything that `/metrics` tells, of one moment.
///
/// Labels have few values, all of them the program's own: never a URL, a host or an identifier.
struct MetricsPage {
    let gateway: GatewayFigures
    let door: ServerFigures
    let connections: Int
    let tls: TLSFigures?
    let events: EventFigures
    let loop: LoopFigures
    let machine: MachineFigures
    /// How the node gets on with the others; nil for a gateway alone.
    let nodes: NodeFigures?
    /// Lines that the audit has lost.
    let auditLossCount: Int
    let version: String
    let commit: String

    /// How TLS is spoken with clients.
    struct TLSFigures {
        let handshakes: HandshakeFigures
        /// In seconds since 1970.
        let expiry: Int64
    }

    /// How the readers of event streams get on.
    struct EventFigures {
        var readers = 0
        var behind = 0
        var greatestLag: Int64 = 0
    }

    /// How a node gets on with the others.
    struct NodeFigures {
        let nodes: Int
        let tenants: Int
        let isPaused: Bool
        let losses: Int
        let leaseLeft: Duration
        let passedOn: Forwarder.Figures?
    }

    /// The page in Prometheus' text format.
    var bytes: [UInt8] {
        var page = Exposition()
        writeProgram(to: &page)
        writeDoor(to: &page)
        if let tls { write(tls, to: &page) }
        if let nodes { write(nodes, to: &page) }
        writeTasks(to: &page)
        writeTransfers(to: &page)
        writeDecisions(to: &page)
        writeWebhooks(to: &page)
        writeStore(to: &page)
        writeLoop(to: &page)
        writeProcess(to: &page)
        return page.bytes
    }

    private func writeProgram(to page: inout Exposition) {
        page.family("ferry_build_info", .gauge, "The program that runs; always 1.") {
            $0.add(1, [("version", version), ("commit", commit)])
        }
    }

    // MARK: Clients

    private func writeDoor(to page: inout Exposition) {
        page.family(
            "ferry_http_requests_total", .counter,
            "Requests of clients, by route and by the status of the answer; 0 where the client left before it."
        ) { samples in
            for route in door.routes {
                for (status, count) in route.statuses {
                    samples.add(count, labels(of: route) + [("status", String(status))])
                }
            }
        }
        page.family(
            "ferry_http_request_duration_seconds", .histogram,
            "From the end of a request's header to the end of the answer; of event streams to their beginning."
        ) { samples in
            for route in door.routes where route.times.count > 0 {
                samples.add(route.times, labels(of: route))
            }
        }
        page.counter(
            "ferry_http_sent_bytes_total", "Bytes of answers to clients, with their headers.",
            door.sentBytes.value)
        page.gauge("ferry_http_connections", "Connections of clients.", connections)
        page.counter(
            "ferry_http_connections_total", "Connections that clients have made.",
            door.accepted.value)
        page.counter(
            "ferry_http_connections_refused_total", "Connections that were one too many.",
            door.refused.value)
        page.counter(
            "ferry_audit_lost_lines_total",
            "Lines that the audit log lacks, since its disk was full or slow.", auditLossCount)
        page.gauge("ferry_event_readers", "Clients that follow an event stream.", events.readers)
        page.gauge(
            "ferry_event_readers_behind",
            "Readers of event streams that were not sent all events yet.", events.behind)
        page.gauge(
            "ferry_event_reader_lag_events",
            "How many events the reader lacks that is furthest behind.", Int(events.greatestLag))
    }

    private func write(_ tls: TLSFigures, to page: inout Exposition) {
        page.counters(
            "ferry_tls_handshakes_total",
            "TLS handshakes with clients, by whether they took up a former session.", by: "type",
            [
                ("full", tls.handshakes.full.value), ("resumed", tls.handshakes.resumed.value),
            ])
        page.counters(
            "ferry_tls_handshake_failures_total",
            "TLS handshakes with clients that came to nothing.", by: "reason",
            HandshakeFailure.allCases.map {
                ($0.rawValue, tls.handshakes.failures[$0]?.value ?? 0)
            })
        page.gauge(
            "ferry_tls_certificate_expiry_time_seconds",
            "When the gateway's certificate expires, since 1970.", Int(tls.expiry))
    }

    private func write(_ nodes: NodeFigures, to page: inout Exposition) {
        page.gauge("ferry_nodes", "Nodes that share the database and live.", nodes.nodes)
        page.gauge("ferry_node_tenants", "Tenants that this node has.", nodes.tenants)
        page.gauge(
            "ferry_node_paused",
            "Whether transfers stand still, since the database has not answered for long.",
            nodes.isPaused ? 1 : 0)
        page.counter(
            "ferry_node_losses_total",
            "How often the others have taken this node for lost, which has joined again.",
            nodes.losses)
        page.family(
            "ferry_node_lease_left_seconds", .gauge,
            "For how long transfers go on if the database does not answer from now on."
        ) { $0.add(nodes.leaseLeft / .seconds(1)) }
        page.counters(
            "ferry_node_tenant_moves_total",
            "Tenants that have come to this node or left it for another one, by how.", by: "type",
            TenantMove.allCases.map { ($0.rawValue, gateway.tenantMoves[$0] ?? 0) })
        guard let passedOn = nodes.passedOn else { return }
        page.counters(
            "ferry_passed_on_requests_total",
            "Requests that were sent to other nodes, by what came of it.", by: "outcome",
            Forwarder.Figures.Outcome.allCases.map {
                ($0.rawValue, passedOn.outcomes[$0]?.value ?? 0)
            })
        page.gauge(
            "ferry_passed_on_requests_running",
            "Requests at other nodes whose answers have not ended.", passedOn.running)
        page.histogram(
            "ferry_passed_on_duration_seconds",
            "From the sending of a request to another node to the beginning of its answer.",
            passedOn.times)
    }

    private func labels(of route: RouteFigures) -> [Exposition.Label] {
        [("method", route.method), ("route", route.pattern)]
    }

    // MARK: Work

    private func write(_ tasks: TaskCensus, to page: inout Exposition) {
        page.family("ferry_tasks", .gauge, "Tasks that have not completed.") { samples in
            for state in TaskState.allCases where state != .completed {
                for type in TaskType.allCases {
                    samples.add(
                        tasks.outstanding[.init(state, type)] ?? 0,
                        [("state", state.rawValue), ("type", type.rawValue)])
                }
            }
        }
        page.gauge(
            "ferry_tasks_kept", "Tasks that have completed and are not forgotten.",
            tasks.completed)
    }

    private func writeTasks(to page: inout Exposition) {
        page.family("ferry_sessions", .gauge, "Sessions that are known.") { samples in
            for (kind, count) in gateway.sessions.sorted(by: { $0.key.order < $1.key.order }) {
                samples.add(
                    count, [("type", kind.type.rawValue), ("state", kind.state.rawValue)])
            }
        }
        if let tasks = gateway.tasks { write(tasks, to: &page) }
        page.gauge("ferry_tasks_live", "Tasks that are not at rest.", gateway.liveTasks)
        page.gauges(
            "ferry_tasks_waiting", "Running tasks without a transfer, by what they wait for.",
            by: "reason",
            WaitReason.allCases.map { ($0.rawValue, gateway.waiting[$0] ?? 0) })
        page.counters(
            "ferry_tasks_created_total", "Tasks that were created.", by: "type",
            TaskType.allCases.map { ($0.rawValue, gateway.created[$0] ?? 0) })
        page.counters(
            "ferry_tasks_completed_total",
            "Tasks that have ended, by the name of their NSURLError; none for success.",
            by: "error",
            gateway.ended.map { ($0.key ?? "none", $0.value) }.sorted { $0.0 < $1.0 })
    }

    private func writeTransfers(to page: inout Exposition) {
        page.gauge(
            "ferry_attempts_running", "Attempts that are on their way.", gateway.runningAttempts)
        page.gauge(
            "ferry_attempts_waiting", "Tasks that wait until an attempt of theirs may begin.",
            gateway.waitingAttempts)
        page.counter(
            "ferry_attempts_total", "Attempts that went to origins.", gateway.attempts)
        page.counter(
            "ferry_retries_total", "Attempts that were made again after one had failed.",
            gateway.retries)
        page.counter(
            "ferry_transfer_received_bytes_total",
            "Bytes of bodies that tasks have got, from origins or from a cache.",
            gateway.receivedBytes)
        page.counter(
            "ferry_transfer_sent_bytes_total", "Bytes of bodies that tasks have sent to origins.",
            gateway.sentBytes)
        page.counters(
            "ferry_cache_requests_total",
            "Requests that a cache was asked about: hit, or why they went to the origin (RFC 9211).",
            by: "outcome",
            (["hit"] + ForwardReason.allCases.map(\.rawValue)).map {
                ($0, gateway.cacheOutcomes[$0] ?? 0)
            })
    }

    private func writeDecisions(to page: inout Exposition) {
        page.gauge(
            "ferry_decisions_pending", "Decisions that wait for a client.",
            gateway.pendingDecisions)
        page.counters(
            "ferry_decisions_total", "Decisions that wait no more.", by: "outcome",
            DecisionState.allCases.filter { $0 != .pending }.map {
                ($0.rawValue, gateway.decisions[$0] ?? 0)
            })
    }

    private func writeWebhooks(to page: inout Exposition) {
        page.gauges(
            "ferry_webhooks", "Webhooks, by their state.", by: "state",
            WebhookState.allCases.map { ($0.rawValue, gateway.webhooks[$0] ?? 0) })
        page.gauge(
            "ferry_webhook_events_waiting", "Events in memory that wait for receivers.",
            gateway.webhookBacklog)
        page.counters(
            "ferry_webhook_deliveries_total", "Tries to post an event to a webhook.",
            by: "outcome",
            DeliveryResult.allCases.map { ($0.rawValue, gateway.deliveries[$0] ?? 0) })
    }

    // MARK: The machine

    private func writeStore(to page: inout Exposition) {
        page.histogram(
            "ferry_store_commit_duration_seconds", "How long a commit took.",
            gateway.commits.times)
        page.histogram(
            "ferry_store_commit_changes", "How many changes a commit had.", gateway.commits.sizes)
        page.gauge(
            "ferry_store_database_bytes", "Bytes of the database's file.",
            Int(machine.databaseBytes))
        page.gauge(
            "ferry_store_wal_bytes", "Bytes of the database's write-ahead log.",
            Int(machine.logBytes))
        page.gauge(
            "ferry_store_stalled", "Whether not even the store finds room on the disk.",
            gateway.isStoreStalled ? 1 : 0)
        page.gauge(
            "ferry_disk_full", "Whether new work is refused because the disk is full.",
            gateway.isDiskFull ? 1 : 0)
        guard let disk = machine.disk else { return }
        page.gauge(
            "ferry_disk_free_bytes", "What the gateway may still write to its disk.",
            Int(disk.free))
        page.gauge("ferry_disk_size_bytes", "The size of the gateway's disk.", Int(disk.total))
        page.gauge(
            "ferry_disk_reserve_bytes", "What of the disk is kept for the database.",
            Int(disk.reserve))
    }

    private func writeLoop(to page: inout Exposition) {
        page.gauge(
            "ferry_file_jobs_waiting", "File work that waits for a thread.", gateway.files.waiting)
        page.gauge(
            "ferry_file_jobs_running", "File work that is being done.", gateway.files.running)
        page.histogram(
            "ferry_file_job_wait_seconds", "How long file work has waited.", gateway.files.waits)
        page.histogram(
            "ferry_file_job_duration_seconds", "How long file work took.", gateway.files.times)
        page.histogram(
            "ferry_loop_turn_duration_seconds",
            "How long turns of the event loop took, without the time in which nothing was due.",
            loop.turns)
        page.histogram(
            "ferry_loop_lag_seconds", "How late a timer of the event loop fired, once a second.",
            loop.lag)
        page.family(
            "ferry_loop_cpu_seconds_total", .counter,
            "Processor time of the event loop's thread."
        ) { $0.add(loop.processorTime) }
    }

    /// As Prometheus' own clients name these.
    private func writeProcess(to page: inout Exposition) {
        page.family(
            "process_cpu_seconds_total", .counter, "Processor time of the whole process."
        ) { $0.add(machine.processorTime) }
        page.gauge(
            "process_resident_memory_bytes", "Memory that is resident.",
            Int(machine.residentBytes))
        page.gauge("process_virtual_memory_bytes", "Address space.", Int(machine.virtualBytes))
        page.gauge("process_open_fds", "Descriptors that are open.", machine.openDescriptors)
        page.gauge("process_max_fds", "Descriptors that may be open.", machine.descriptorLimit)
        page.gauge("process_threads", "Threads of the process.", machine.threads)
        page.family(
            "process_start_time_seconds", .gauge, "When the process began, since 1970."
        ) { $0.add(machine.startTime) }
    }
}

extension SessionKind {
    fileprivate var order: String { type.rawValue + " " + state.rawValue }
}
