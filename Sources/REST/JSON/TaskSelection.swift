internal import Engine
internal import HTTP
internal import JSON
internal import Loop
internal import Semantics

/// Which tasks are meant, as the query of a list says, or the filter of an action.
struct TaskSelection {
    /// As clients name it.
    private(set) var session: String?
    /// Nil where none are named.
    private(set) var states: Set<TaskState>?
    private(set) var types: Set<TaskType>?
    private(set) var filter = TaskFilter()
    /// As the client names it; `findHost` says which one that is.
    private var host: String?

    // MARK: As a query

    /// Reads the parameters of a list.
    @LoopActor
    init(_ call: Call) throws(Problem) {
        for (name, value) in call.request.query {
            switch name {
            case "state": states = try call.states()
            case "type": types = try call.choices(value, named: name)
            case "q": filter.text = try call.searchText()
            case "host": host = value
            case "createdAfter": filter.createdAfter = try Self.instant(value, named: name)
            case "createdBefore": filter.createdBefore = try Self.instant(value, named: name)
            case "error":
                guard let hasError = ["true": true, "false": false][value] else {
                    throw Call.invalid(name, "must be true or false")
                }
                filter.hasError = hasError
            default: break
            }
        }
        filter.metadata = try call.metadataFilter()
    }

    private static func instant(
        _ text: String, named name: String
    ) throws(Problem) -> Timestamp {
        guard let milliseconds = RFC3339.milliseconds(text) else {
            throw Call.invalid(name, "must be an instant as RFC 3339 writes it")
        }
        return Timestamp(milliseconds: milliseconds)
    }

    // MARK: As JSON

    /// Reads a filter (`TaskFilter` of openapi.yaml).
    init(_ reader: inout JSONReader) throws(JSONError) {
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "session": session = try reader.string()
            case "state": states = try Self.choices(&reader)
            case "type": types = try Self.choices(&reader)
            case "q":
                filter.text = SearchText(try reader.string(byteLimit: SearchText.byteLimit))
            case "host": host = try reader.string()
            case "createdAfter":
                filter.createdAfter = Timestamp(milliseconds: try reader.instant())
            case "createdBefore":
                filter.createdBefore = Timestamp(milliseconds: try reader.instant())
            case "error": filter.hasError = try reader.bool()
            case "metadata": filter.metadata = try reader.metadata()
            default: throw reader.unknownMember(name)
            }
        }
    }

    /// One of them, or an array.
    private static func choices<Choice: RawRepresentable<String> & CaseIterable & Hashable>(
        _ reader: inout JSONReader
    ) throws(JSONError) -> Set<Choice> {
        guard try reader.peekKind() == .array else { return [try reader.choice()] }
        var choices: Set<Choice> = []
        try reader.array { r throws(JSONError) in choices.insert(try r.choice()) }
        return choices
    }

    // MARK: Of both

    /// Finds out which host is meant.
    ///
    /// - Parameter parse: the one parser of URLs, which knows what a host is.
    /// - Returns: false where what the client names is none.
    mutating func findHost(_ parse: (String) throws(URLRejection) -> WebURL) -> Bool {
        guard let host else { return true }
        filter.host = HostName.filtered(host, parse)
        return filter.host != nil
    }

    /// The query that finds them.
    ///
    /// - Parameters:
    ///   - tenant: whose they are.
    ///   - session: the one that is meant; nil for all.
    ///   - usualStates: which states are meant where none are named.
    ///   - limit: how many are wanted.
    /// - Returns: a query from the first task on, the oldest first.
    func query(
        of tenant: TenantID, in session: SessionID?, usualStates: Set<TaskState>, limit: Int
    ) -> TaskQuery {
        var query = TaskQuery(
            tenant: tenant, session: session, states: states ?? usualStates, types: types,
            limit: limit)
        query.filter = filter
        return query
    }
}

extension Call {
    /// Some of a few words, with commas between them.
    func choices<Choice: RawRepresentable<String> & CaseIterable & Hashable>(
        _ text: String, named name: String
    ) throws(Problem) -> Set<Choice> {
        var choices: Set<Choice> = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let choice = Choice(rawValue: String(word)) else {
                let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
                throw Call.invalid(name, "must be of \(names)")
            }
            choices.insert(choice)
        }
        return choices
    }

    /// The states that `state` names, `all` for every one; nil without it.
    func states<State: RawRepresentable<String> & CaseIterable & Hashable>()
        throws(Problem) -> Set<State>?
    {
        guard let text = request.queryValue("state") else { return nil }
        return text == "all" ? Set(State.allCases) : try choices(text, named: "state")
    }

    /// What is searched for; nil where nothing is.
    func searchText() throws(Problem) -> SearchText? {
        guard let text = request.queryValue("q") else { return nil }
        guard text.utf8.count <= SearchText.byteLimit else {
            throw Call.invalid("q", "must not be longer than \(SearchText.byteLimit) bytes")
        }
        return SearchText(text)
    }

    /// In which order a list is wanted.
    func order() throws(Problem) -> ListOrder {
        switch request.queryValue("order") {
        case nil, "createdAt": .oldestFirst
        case "-createdAt": .newestFirst
        default: throw Call.invalid("order", "must be createdAt or -createdAt")
        }
    }

    /// What metadata must have, by `metadata.KEY=VALUE`.
    func metadataFilter() throws(Problem) -> [String: String] {
        var metadata: [String: String] = [:]
        let prefix = "metadata."
        for (name, value) in request.query where name.hasPrefix(prefix) {
            let key = String(name.dropFirst(prefix.count))
            guard Metadata.isKey(key) else {
                throw Call.invalid(
                    String(name.prefix(96)), "must name 1 to 64 letters, digits, _, . and -")
            }
            metadata[key] = value
        }
        guard metadata.count <= Metadata.countLimit else {
            throw Call.invalid("metadata.*", "can be given \(Metadata.countLimit) times")
        }
        return metadata
    }
}

extension JSONReader {
    /// What a client keeps with a task or a session (`Metadata` of openapi.yaml).
    mutating func metadata() throws(JSONError) -> [String: String] {
        try metadataEntries { r throws(JSONError) in try r.metadataValue() }
    }

    /// A change of it (`MetadataPatch` of openapi.yaml): null takes a name away.
    mutating func metadataPatch() throws(JSONError) -> [String: String?] {
        try metadataEntries { r throws(JSONError) in
            try r.optional { r throws(JSONError) in try r.metadataValue() }
        }
    }

    private mutating func metadataEntries<Value>(
        _ read: (inout JSONReader) throws(JSONError) -> Value
    ) throws(JSONError) -> [String: Value] {
        var entries: [String: Value] = [:]
        try object { reader, name throws(JSONError) in
            guard Metadata.isKey(name) else {
                throw reader.fail("must have a name of 1 to 64 letters, digits, _, . and -")
            }
            guard entries.count < Metadata.countLimit else {
                throw reader.fail("must not be beyond the first \(Metadata.countLimit)")
            }
            entries.updateValue(try read(&reader), forKey: name)
        }
        return entries
    }

    private mutating func metadataValue() throws(JSONError) -> String {
        try string(byteLimit: Metadata.valueByteLimit)
    }
}
